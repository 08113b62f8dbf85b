package gradcheck

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Report is the result of a check.
type Report struct {
	H, Limit float64
	Tensors  []Tensor // in the order of the nodes checked
}

// Tensor is the worst entry of one tensor.
type Tensor struct {
	Name     string
	Shape    []int
	Checked  int     // entries tried
	Error    float64 // |Numeric-Analytic| / max(1e-3, the tensor's largest gradient); +Inf for one not finite
	Index    []int   // of the worst entry
	Numeric  float64 // its central difference
	Analytic float64 // its gradient
}

// Err returns nil when every tensor is within the limit, else an error that names the worst entry.
func (r Report) Err() error {
	var worst Tensor
	for _, t := range r.Tensors {
		if t.Error > worst.Error {
			worst = t
		}
	}
	if worst.Error <= r.Limit {
		return nil
	}
	return fmt.Errorf("gradcheck: %s%v: gradient %.10g, central difference %.10g: error %.2g, at most %.0e allowed",
		worst.Name, worst.Index, worst.Analytic, worst.Numeric, worst.Error, r.Limit)
}

// WriteTo writes a table with one line for each tensor and the verdict below.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, r.String())
	return int64(n), err
}

// String is the table that WriteTo writes.
func (r Report) String() string {
	var s strings.Builder
	t := tabwriter.NewWriter(&s, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "tensor\tshape\tchecked\terror\tworst entry\tgradient\tdifference")
	failed := 0
	for _, x := range r.Tensors {
		verdict := "ok"
		if x.Error > r.Limit {
			verdict = "WRONG"
			failed++
		}
		fmt.Fprintf(t, "%s\t%v\t%d\t%.1e\t%v\t%.8g\t%.8g\t%s\n",
			x.Name, x.Shape, x.Checked, x.Error, x.Index, x.Analytic, x.Numeric, verdict)
	}
	t.Flush()
	fmt.Fprintf(&s, "%d of %d tensors within %.0e (central differences, h = %.0e)\n",
		len(r.Tensors)-failed, len(r.Tensors), r.Limit, r.H)
	return s.String()
}
