package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"tinylm/layers"
	"tinylm/train"
)

// GPT-2 small has 124,439,808 parameters of 16 bytes, 1,991 MB; a window leaves 1,024 tokens of
// 4*(12*(6*768+3072)+50257) bytes, 583 MB, behind. 30 MB for the program are added, and a twentieth of all is
// left free.
func TestRefusedByBounds(t *testing.T) {
	c := layers.Config{Layers: 12, Heads: 12, Width: 768, Context: 1024, Vocab: 50257}
	for _, k := range []struct {
		batch int
		accum int
		free  int64
		want  string
	}{
		{20, 1, 2_570_000_000, "this model needs 14.4 GB or more, 2.6 GB are free; use a smaller --block-size"},
		{10, 1, 1_000_000_000, "this model needs 8.3 GB or more, 1.0 GB are free; use a smaller --n-layer or --n-embd"},
		{20, 2, 2_470_000_000, "this model needs 14.9 GB or more, 2.5 GB are free; use a smaller --n-layer or --n-embd"},
		{1, 1, 600_000_000, "this model needs 2.7 GB or more, 600 MB are free; use a smaller --n-layer or --n-embd"},
	} {
		var s settings
		s.Train.GradAccum = k.accum
		d := newDemand(c, s)
		got := ""
		if err := d.check(k.batch, freeMemory{k.free, true}, false); err != nil {
			got = err.Error()
		}
		if got != k.want || d.model != nil {
			t.Errorf("batch %d, %d free: %q, want %q", k.batch, k.free, got, k.want)
		}
	}
	if err := newDemand(c, settings{}).check(1<<62, freeMemory{}, false); err != nil {
		t.Errorf("where nobody knows what is free: %v", err)
	}
}

// demanding is a small model whose training has other needs in each case.
func demanding(accum int, composed bool) *demand {
	var s settings
	s.Train.GradAccum, s.Model.Composed = accum, composed
	return newDemand(layers.Config{Layers: 2, Heads: 2, Width: 32, Context: 32, Vocab: 65}, s)
}

// enough is the least free memory that so many bytes fit into, with all that is added to them.
func enough(planned, beside int64) int64 { return (100*(planned+30_000_000+beside) + 94) / 95 }

// What is planned is what a trainer holds.
func TestExactDemand(t *testing.T) {
	for _, accum := range []int{1, 3} {
		for _, composed := range []bool{false, true} {
			d := demanding(accum, composed)
			o := train.Defaults()
			o.Batch, o.Accum, o.Composed = 5, accum, composed
			trainer := must[*train.Trainer](t)(train.NewTrainer(must[*layers.GPT](t)(layers.NewGPT(d.config, layers.Float32)), make([]int32, 1000), nil, o))
			if need := must[int64](t)(d.exact(5)); need != trainer.Bytes() {
				t.Errorf("%d batches a step, composed %v: planned %d bytes, the trainer holds %d", accum, composed, need, trainer.Bytes())
			}
		}
	}
}

// A plan is refused when it needs a byte more than there is, and the batch that is named then is the largest
// that fits.
func TestRefusedByPlan(t *testing.T) {
	for _, accum := range []int{1, 3} {
		for _, composed := range []bool{false, true} {
			d := demanding(accum, composed)
			const text = 1_000_000
			d.beside += text
			need := enough(must[int64](t)(d.exact(20)), text)
			if err := d.check(20, freeMemory{need, true}, false); err != nil {
				t.Errorf("with just enough memory: %v", err)
			}
			for fit := range 20 {
				free := need - 1
				if fit < 19 {
					free = enough(must[int64](t)(d.exact(fit+1)), text) - 1
				}
				err := d.check(20, freeMemory{free, true}, false)
				want := fmt.Sprintf("; --batch-size %d would fit (or --batch-size auto)", fit)
				if fit == 0 {
					want = "; use a smaller --block-size"
				}
				if err == nil || !strings.HasPrefix(err.Error(), "this model needs ") || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%d bytes: %v, want %q", free, err, want)
				}
			}
			err := d.check(20, freeMemory{need - 1, true}, true)
			if err == nil || !strings.HasSuffix(err.Error(), "; the run was begun with --batch-size 20 and goes on with it only") {
				t.Errorf("a run that is resumed: %v", err)
			}
		}
	}
}

// --batch-size auto is bounded by 4,096 tokens, by the text and by half of the memory.
func TestAutoBatch(t *testing.T) {
	d := demanding(1, false)
	half := func(batch int) int64 { return 2 * enough(must[int64](t)(d.exact(batch)), 0) }
	for _, c := range []struct {
		context, windows int
		free             freeMemory
		want             int
	}{
		{32, 1 << 40, freeMemory{}, 128}, {32, 1 << 40, freeMemory{1 << 40, true}, 128}, {48, 1 << 40, freeMemory{}, 64},
		{4096, 100, freeMemory{}, 1}, {4097, 100, freeMemory{}, 1}, {1 << 50, 100, freeMemory{}, 1}, {2048, 100, freeMemory{}, 2},
		{32, 63, freeMemory{}, 32}, {32, 64, freeMemory{}, 64}, {32, 1, freeMemory{}, 1}, {32, 0, freeMemory{}, 1},
		{32, 1000, freeMemory{half(128), true}, 128}, {32, 1000, freeMemory{half(128) - 2, true}, 64},
		{32, 1000, freeMemory{half(2) - 2, true}, 1}, {32, 1000, freeMemory{1, true}, 1},
	} {
		d := demanding(1, false)
		d.config.Context = c.context
		if got := must[int](t)(d.auto(c.windows, c.free)); got != c.want {
			t.Errorf("%+v: %d windows", c, got)
		}
	}
}

// withMemory runs a command line in this process as if so many bytes were free.
func withMemory(free int64, args ...string) (status int, stdout, stderr string) {
	var out, errs strings.Builder
	status = run(args, &streams{out: &out, err: &errs, program: "train-tiny", memory: &freeMemory{free, true}})
	return status, out.String(), errs.String()
}

// The batch that auto found is the run's from then on, whatever memory there is when it is resumed.
func TestAutoBatchIsKept(t *testing.T) {
	dir := newRunDir(t)
	path := filepath.Join(dir, "run")
	args := []string{filepath.Join(dir, "book.txt"), "--config", filepath.Join(dir, "tiny.json"), "--out-dir", path, "--batch-size", "auto"}
	// 3,300 characters, a tenth of which is for validation, are 185 windows of 16: 128 is the power of two
	status, _, stderr := withMemory(1e9, append(args, "--max-iters", "2")...)
	if status != 0 || !strings.Contains(stderr, " 2 steps of 128 x 16 tokens ") {
		t.Fatalf("exit status %d\n%s", status, stderr)
	}
	for _, name := range []string{"config.json", "checkpoints/step-000002/training.json"} {
		if text := string(readFile(t, path, name)); !regexp.MustCompile(`"batch-size": ?"?128\b`).MatchString(text) {
			t.Errorf("%s has another batch:\n%s", name, text)
		}
	}
	status, _, stderr = withMemory(40e6, append(args, "--max-iters", "3", "--resume")...)
	if status != 0 || !strings.Contains(stderr, " 3 steps of 128 x 16 tokens ") {
		t.Errorf("resumed: exit status %d\n%s", status, stderr)
	}
}

// A run that does not fit leaves nothing behind, and the batch that is named fits.
func TestRefusedRun(t *testing.T) {
	dir := newRunDir(t)
	path := filepath.Join(dir, "run")
	args := []string{filepath.Join(dir, "book.txt"), "--config", filepath.Join(dir, "tiny.json"), "--out-dir", path, "--quiet"}
	const free = 32_200_000
	status, _, stderr := withMemory(free, append(args, "--batch-size", "100")...)
	m := regexp.MustCompile(`^train-tiny: this model needs 33 MB(?: or more)?, 32 MB are free; (--batch-size \d+) would fit \(or --batch-size auto\)\n$`).FindStringSubmatch(stderr)
	if status != 1 || m == nil {
		t.Fatalf("exit status %d\n%s", status, stderr)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the run's directory: %v, want none", err)
	}
	if status, _, stderr := withMemory(free, append(args, strings.Fields(m[1])...)...); status != 0 {
		t.Errorf("%s: exit status %d\n%s", m[1], status, stderr)
	}
}

// reportMemory is the command, run by TestMain as another process, but for its stdout: the bytes of memory
// that it holds at each line about a step.
func reportMemory() {
	stderr := writerFunc(func(text string) {
		var step, max, size, resident int
		if n, _ := fmt.Sscanf(text, "step %d/%d", &step, &max); n < 2 {
			return
		}
		statm, err := os.ReadFile("/proc/self/statm")
		if err == nil {
			_, err = fmt.Sscan(string(statm), &size, &resident)
		}
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(step, resident*os.Getpagesize())
	})
	os.Exit(run(os.Args[1:], &streams{out: io.Discard, err: stderr}))
}

// Training, with all that happens on the way, holds no more memory at its end than at its beginning.
func TestMemoryDoesNotGrow(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc/self/statm")
	}
	cmd := program(t, newRunDir(t), "book.txt", "--config", "tiny.json", "--max-iters", "1500", "--dropout", "0.1",
		"--eval-interval", "50", "--save-interval", "100", "--log-interval", "50")
	cmd.Args[0] = "report-memory"
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	held := map[int]int{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var step, resident int
		if _, err := fmt.Sscan(lines.Text(), &step, &resident); err != nil {
			t.Fatalf("%v in %q", err, lines.Text())
		}
		held[step] = resident
	}
	const most = 5_000_000
	if begin, end := held[200], held[1500]; begin == 0 || end == 0 || end-begin > most {
		t.Errorf("%d bytes at step 200, %d at step 1,500; want at most %d more", begin, end, most)
	}
}
