package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"

	"tinylm/internal/bench"
)

// benchCmd measures speed.
type benchCmd struct {
	Step      benchStepCmd      `cmd:"" help:"Whole training steps."`
	Attention benchAttentionCmd `cmd:"" help:"Attention, fused and spelled out, by length."`
	Gemm      benchGemmCmd      `cmd:"" help:"The matrix products of training steps."`
	Generate  benchGenerateCmd  `cmd:"" help:"Generation, by the position of the token."`
	Start     benchStartCmd     `cmd:"" help:"The time from the start of the program to the end of its first training step."`
}

// benchFlags are those of every measurement.
type benchFlags struct {
	Threads int  `name:"threads" placeholder:"N" help:"Processors to use; 0: all."`
	JSON    bool `name:"json" help:"Print one line of JSON for each row of the table instead."`
}

// begin checks the flags and sets the number of threads, which is fixed with the first kernel.
func (f benchFlags) begin() error {
	if f.Threads < 0 {
		return usagef("--threads must not be negative, got %d", f.Threads)
	}
	if most := runtime.NumCPU(); f.Threads > most {
		return usagef("--threads %d: this machine has %d", f.Threads, most)
	}
	if f.Threads > 0 {
		runtime.GOMAXPROCS(f.Threads)
	}
	return nil
}

// benchStepCmd measures training steps.
type benchStepCmd struct {
	Shape   string  `name:"shape" default:"S" help:"S (4 layers, 4 heads, width 128, block 64, batch 12, vocabulary 65), M (6, 6, 384, 256, 16, 65) or L (12, 12, 768, 512, 2, 50257)."`
	Dropout float64 `name:"dropout" placeholder:"X" help:"Share of values dropped."`
	Steps   int     `name:"steps" placeholder:"N" help:"Steps to measure, after two that warm up; 0: for five seconds."`
	benchFlags
}

// Run is called by the parser.
func (c *benchStepCmd) Run(s *streams) error {
	shape, err := bench.Named(c.Shape)
	if err != nil {
		return usagef("--%w", err)
	}
	switch {
	case !(c.Dropout >= 0 && c.Dropout < 1):
		return usagef("--dropout must be in [0, 1), got %v", c.Dropout)
	case c.Steps < 0:
		return usagef("--steps must not be negative, got %d", c.Steps)
	}
	if err := c.begin(); err != nil {
		return err
	}
	r, err := bench.Step(bench.StepOptions{Shape: shape, Dropout: c.Dropout, Steps: c.Steps})
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.out, r)
	}
	return writeTable(s.out, "shape\tdropout\tthreads\tinstructions\tms best\tms median\ttokens/s\tGF/s\tof peak\tMB resident", []string{
		fmt.Sprintf("%s\t%v\t%d\t%s\t%.2f\t%.2f\t%.0f\t%.1f\t%s\t%d", r.Shape, r.Dropout, r.Threads, r.ISA,
			r.MsBest, r.MsMedian, r.TokensPerS, r.GFLOPS, percent(r.ShareOfPeak), r.RSSMB),
	})
}

// benchAttentionCmd measures attention.
type benchAttentionCmd struct {
	Heads     int   `name:"heads" default:"6" placeholder:"N" help:"Attention heads."`
	HeadWidth int   `name:"head-width" default:"64" placeholder:"N" help:"Numbers for each head."`
	Lengths   []int `name:"lengths" default:"256,1024,4096" placeholder:"N" help:"Tokens in the window: numbers parted by commas."`
	Composed  bool  `name:"composed" default:"true" negatable:"" help:"Run the form spelled out in primitive nodes too."`
	Tape      bool  `name:"tape" help:"Run that form on Gorgonia's tape machine too, which takes much time and memory."`
	benchFlags
}

// Run is called by the parser.
func (c *benchAttentionCmd) Run(s *streams) error {
	if c.Heads < 1 || c.HeadWidth < 1 {
		return usagef("--heads and --head-width must be at least 1, got %d and %d", c.Heads, c.HeadWidth)
	}
	if len(c.Lengths) == 0 || slices.Min(c.Lengths) < 1 {
		return usagef("--lengths must be numbers of at least 1, got %v", c.Lengths)
	}
	if err := c.begin(); err != nil {
		return err
	}
	var all []bench.AttentionResult
	for _, length := range c.Lengths {
		r, err := bench.Attention(length, bench.AttentionOptions{Heads: c.Heads, HeadWidth: c.HeadWidth, Composed: c.Composed, Tape: c.Tape})
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	if c.JSON {
		return writeJSON(s.out, all...)
	}
	return writeAttention(s.out, all)
}

// writeAttention writes three tables: the two forms, what the composed one is made of, and the projection.
func writeAttention(w io.Writer, all []bench.AttentionResult) error {
	var forms, composed, projections []string
	for _, r := range all {
		forms = append(forms, fmt.Sprintf("%d\t%s\t%s\t%.2f\t%s\t%s\t%.2f\t%s\t%s\t%s", r.Length,
			figure(r.FusedForwardMs, 2), figure(r.FusedMs, 2), r.FusedExtraMB, figure(r.ComposedForwardMs, 2), figure(r.ComposedMs, 2),
			r.ComposedExtraMB, figure(r.Ratio, 2), figure(r.TapeMs, 0), figure(r.TapeRatio, 1)))
		composed = append(composed, fmt.Sprintf("%d\t%.2f\t%s\t%s", r.Length, r.WeightsMB, figure(r.ProductsMs, 2), figure(r.ProductsGFLOPS, 1)))
		projections = append(projections, fmt.Sprintf("%d\t%s\t%s\t%.2f", r.Length,
			figure(r.ProjectionMs, 2), figure(r.SeparateMs, 2), r.SeparateMs/r.ProjectionMs))
	}
	fmt.Fprintf(w, "Causal attention, %s of %d, one window; %s, %s. Milliseconds of forward and of both\n"+
		"forward and backward; memory beyond inputs, outputs and gradients.\n", several(all[0].Heads, "head"), all[0].HeadWidth, several(all[0].Threads, "thread"), all[0].ISA)
	if err := writeTable(w, "length\tfused forward\tboth\textra MB\tcomposed forward\tboth\textra MB\tratio\ttape machine\tratio", forms); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe composed form: its attention weights, and its six matrix products alone.\n")
	if err := writeTable(w, "length\tweights MB\tproducts\tGF/s", composed); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe projection to queries, keys and values, forward and backward, by one product and by three.\n")
	return writeTable(w, "length\tone\tthree\tratio", projections)
}

// figure is a number, or a dash for one that was not measured.
func figure(x float64, digits int) string {
	if x == 0 {
		return "-"
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// benchGemmCmd measures matrix products.
type benchGemmCmd struct{ benchFlags }

// Run is called by the parser.
func (c *benchGemmCmd) Run(s *streams) error {
	if err := c.begin(); err != nil {
		return err
	}
	var all []bench.ProductResult
	for _, shape := range bench.Shapes {
		products, err := bench.Products(shape)
		if err != nil {
			return err
		}
		all = append(all, products...)
	}
	if c.JSON {
		return writeJSON(s.out, all...)
	}
	var rows []string
	for _, r := range all {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%.1f\t%s\t%.1f\t%s\t%.1f\t%s", r.Shape, r.Product, r.N, r.K, r.M,
			r.ForwardGFLOPS, percent(r.ForwardShare), r.DXGFLOPS, percent(r.DXShare), r.DWGFLOPS, percent(r.DWShare)))
	}
	fmt.Fprintf(s.out, "Products of N rows by a matrix (K, M), GF/s and share of the peak; %s, %s.\n", several(all[0].Threads, "thread"), all[0].ISA)
	return writeTable(s.out, "shape\tproduct\tN\tK\tM\tforward\tof peak\tdX\tof peak\tdW\tof peak", rows)
}

// benchGenerateCmd measures generation.
type benchGenerateCmd struct {
	Shape     string `name:"shape" default:"L" help:"S, M or L; see bench step."`
	Context   int    `name:"context" default:"1024" placeholder:"N" help:"Tokens that the model sees at once."`
	Positions []int  `name:"positions" placeholder:"N" help:"Where tokens are timed: numbers parted by commas. (those of 10, 100, 500 and 1000 that are below --context)"`
	benchFlags
}

// Run is called by the parser.
func (c *benchGenerateCmd) Run(s *streams) error {
	shape, err := bench.Named(c.Shape)
	if err != nil {
		return usagef("--%w", err)
	}
	if c.Context < 3 {
		return usagef("--context must be at least 3, got %d", c.Context)
	}
	if len(c.Positions) == 0 {
		c.Positions = usualPositions(c.Context)
	}
	if slices.Min(c.Positions) < 1 || slices.Max(c.Positions) >= c.Context {
		return usagef("--positions must be numbers from 1 to %d, below --context; got %v", c.Context-1, c.Positions)
	}
	if err := c.begin(); err != nil {
		return err
	}
	all, err := bench.Generate(shape, c.Context, c.Positions)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.out, all...)
	}
	var rows []string
	for _, r := range all {
		rows = append(rows, fmt.Sprintf("%d\t%.2f\t%.1f\t%.1f\t%s", r.Position, r.MsPerToken, r.GBPerS, r.BandwidthGBS, shareText(r.Share)))
	}
	fmt.Fprintf(s.out, "One text, shape %s with context %d: %.0f MB of weights for each token; %s, %s.\n",
		shape.Name, c.Context, all[0].WeightsMB, several(all[0].Threads, "thread"), all[0].ISA)
	err = writeTable(s.out, "position\tms a token\tGB/s of weights\tGB/s that memory reads\tshare", rows)
	if all[0].Share == 0 && err == nil {
		_, err = fmt.Fprintf(s.out, "No share: weights of less than %d MB may stay in the processor's caches.\n", bench.CachedMB)
	}
	return err
}

// usualPositions are those measured in a context unless others are asked for.
func usualPositions(context int) []int {
	usual := slices.DeleteFunc([]int{10, 100, 500, 1000}, func(p int) bool { return p >= context })
	if len(usual) == 0 {
		return []int{context - 1}
	}
	return usual
}

// benchStartCmd measures how long the program takes to begin.
type benchStartCmd struct {
	Runs int  `name:"runs" default:"10" placeholder:"N" help:"Times that it is started."`
	JSON bool `name:"json" help:"Print a line of JSON instead."`
}

// Run is called by the parser.
func (c *benchStartCmd) Run(s *streams) error {
	if c.Runs < 1 {
		return usagef("--runs must be at least 1, got %d", c.Runs)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r, err := bench.Start(self, c.Runs)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(s.out, r)
	}
	return writeTable(s.out, "runs\tbytes of text\tms best\tms median\tMB of program", []string{
		fmt.Sprintf("%d\t%d\t%.1f\t%.1f\t%.1f", r.Runs, r.TextBytes, r.MsBest, r.MsMedian, r.BinaryMB),
	})
}

// writeJSON writes rows as JSON, one a line.
func writeJSON[T any](w io.Writer, rows ...T) error {
	e := json.NewEncoder(w)
	for _, r := range rows {
		if err := e.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// writeTable writes rows of cells, which tabs part, under a head.
func writeTable(w io.Writer, head string, rows []string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range append([]string{head}, rows...) {
		fmt.Fprintln(t, r+"\t")
	}
	return t.Flush()
}

// shareText is a percentage, or a dash for one that was not measured.
func shareText(share float64) string {
	if share == 0 {
		return "-"
	}
	return percent(share)
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }
