package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"tinylm/train"
)

// reporter tells the user what happens in a run, on stderr: with a bar on a terminal, in whole lines
// elsewhere.
type reporter struct {
	w   io.Writer
	bar *bar // nil without a terminal

	saved string        // the latest checkpoint
	took  time.Duration // to save it
}

// newReporter returns a reporter for a run of max steps of which done are done.
func newReporter(w io.Writer, done, max int) *reporter {
	r := &reporter{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		r.bar = newBar(f, done, max)
	}
	return r
}

// Step shows the progress.
func (r *reporter) Step(p train.Progress) {
	switch {
	case r.bar != nil:
		r.bar.show(p)
	case p.LogLine:
		fmt.Fprintln(r.w, progressLine(p))
	}
}

// Evaluated does nothing: the next step shows the loss.
func (r *reporter) Evaluated(train.Progress) {}

// Sample shows a text by the model.
func (r *reporter) Sample(step int, text string) {
	r.line(fmt.Sprintf("\nsample at step %d\n%s\n", step, indent(printable(text))))
}

// Saved notes the checkpoint for the lines at the end.
func (r *reporter) Saved(_ int, path string, _ bool, took time.Duration) {
	r.saved, r.took = path, took
}

// Notice shows a line.
func (r *reporter) Notice(text string) { r.line("note: " + text) }

func (r *reporter) line(text string) {
	if r.bar != nil {
		r.bar.clear()
	}
	fmt.Fprintln(r.w, text)
}

// end leaves the line of the bar.
func (r *reporter) end() {
	if r.bar != nil {
		r.bar.end()
	}
}

// bar is a progress bar with text beside it.
type bar struct {
	*progressbar.ProgressBar
	file  *os.File
	max   int
	drawn bool // the cursor is on the bar's line
}

func newBar(f *os.File, done, max int) *bar {
	b := progressbar.NewOptions(max,
		progressbar.OptionSetWriter(f), progressbar.OptionSetWidth(barWidth),
		progressbar.OptionShowDescriptionAtLineEnd(), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "#", SaucerPadding: " ", BarStart: "|", BarEnd: "|"}))
	b.StartWithoutRender()
	return &bar{ProgressBar: b, file: f, max: max}
}

const (
	barWidth = 20
	barSpace = 5 + 12 // what is left to a shrunken bar with its frame and percentage
)

// show draws the bar. Its errors, of a terminal that went away, do not matter for the run.
func (b *bar) show(p train.Progress) {
	text := progressText(p)
	if width, _, err := term.GetSize(int(b.file.Fd())); err == nil && width > 0 {
		text = text[:min(len(text), max(0, width-barSpace))]
	}
	b.Describe(text)
	_ = b.Set(min(p.Step, b.max)) // beyond max is an error
	b.drawn = true
}

func (b *bar) clear() {
	if b.drawn && !b.IsFinished() {
		_ = b.Clear() // see show
	}
}

func (b *bar) end() {
	if b.drawn {
		fmt.Fprintln(b.file)
		b.drawn = false
	}
}
