package bench

import (
	"time"

	"tinylm/internal/device"
	"tinylm/internal/device/cpu"
)

// ProductResult is how fast one matrix product of a model runs: of N rows by a matrix (K, M). Forward adds
// a bias, but not at the output matrix. A share is of the peak of multiply-adds.
type ProductResult struct {
	Shape   string `json:"shape"`
	Product string `json:"product"`
	N       int    `json:"n"`
	K       int    `json:"k"`
	M       int    `json:"m"`
	Threads int    `json:"threads"`
	ISA     string `json:"isa"`

	ForwardGFLOPS float64 `json:"forward_gflops"`
	ForwardShare  float64 `json:"forward_share"`
	DXGFLOPS      float64 `json:"dx_gflops"` // gradient of the rows
	DXShare       float64 `json:"dx_share"`
	DWGFLOPS      float64 `json:"dw_gflops"` // gradient of the matrix
	DWShare       float64 `json:"dw_share"`
	PeakGFLOPS    float64 `json:"peak_gflops"`
}

// productSpend is for how long each product is run.
const productSpend = 150 * time.Millisecond

// Products measures the matrix products of a shape's model.
func Products(s Shape) ([]ProductResult, error) { return productsFor(productSpend, s) }

func productsFor(spend time.Duration, s Shape) ([]ProductResult, error) {
	threads := cpu.Default().Workers()
	before, err := Peak(threads)
	if err != nil {
		return nil, err
	}
	rows, c := s.Tokens(), s.Width
	all := []ProductResult{
		{Product: "queries, keys, values", K: c, M: 3 * c},
		{Product: "attention's output", K: c, M: c},
		{Product: "feed-forward, up", K: c, M: 4 * c},
		{Product: "feed-forward, down", K: 4 * c, M: c},
		{Product: "output matrix", K: c, M: s.V},
	}
	for i := range all {
		r := &all[i]
		r.Shape, r.N, r.Threads, r.ISA = s.Name, rows, threads, cpu.Default().ISA()
		if err := r.measure(i == len(all)-1, spend); err != nil {
			return nil, err
		}
	}
	after, err := Peak(threads)
	for i := range all {
		all[i].share(max(before, after))
	}
	return all, err
}

// measure times the three products. The output matrix is the embedding's (M, K), without a bias.
func (r *ProductResult) measure(embedding bool, spend time.Duration) error {
	k := &kernels{dev: cpu.Default()}
	x, y, w := k.floats(r.N, r.K), k.floats(r.N, r.M), k.floats(r.K, r.M)
	forward, inputs := device.Linear{Bias: true}, []device.Buffer{x, w, k.floats(r.M)}
	if embedding {
		w.Shape = []int{r.M, r.K}
		forward, inputs = device.Linear{TransW: true}, []device.Buffer{x, w}
	}
	for _, p := range []struct {
		kernel device.Kernel
		out    device.Buffer
		in     []device.Buffer
		rate   *float64
	}{
		{forward, y, inputs, &r.ForwardGFLOPS},
		{device.Linear{TransW: !embedding}, x, []device.Buffer{y, w}, &r.DXGFLOPS},
		{device.LinearWeightGrad{TransW: embedding}, w, []device.Buffer{x, y}, &r.DWGFLOPS},
	} {
		k.launches = nil
		k.add(p.kernel, p.out, p.in...)
		took, err := k.fastest(spend)
		if err != nil {
			return err
		}
		*p.rate = round(perSecond(2*float64(r.N)*float64(r.K)*float64(r.M), took), 1)
	}
	return nil
}

func (r *ProductResult) share(peak float64) {
	r.PeakGFLOPS = round(peak, 1)
	r.ForwardShare = round(r.ForwardGFLOPS/peak, 4)
	r.DXShare = round(r.DXGFLOPS/peak, 4)
	r.DWShare = round(r.DWGFLOPS/peak, 4)
}
