package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"tinylm/layers"
)

// GPT-2 small has 124,439,808 parameters of 16 bytes, 1,991 MB; a window leaves 1,024 tokens of
// 4*(12*(6*768+2*3072)+50257) bytes, 734 MB, behind.
func TestFits(t *testing.T) {
	c := layers.Config{Layers: 12, Heads: 12, Width: 768, Context: 1024, Vocab: 50257}
	for _, k := range []struct {
		batch int
		free  int64
		want  string
	}{
		{1, 2_730_000_000, ""},
		{1, 2_720_000_000, "this model needs 2.7 GB or more, 2.7 GB are free; use a smaller --batch-size or --block-size"},
		{10, 2_730_000_000, "this model needs 9.3 GB or more, 2.7 GB are free; use a smaller --batch-size or --block-size"},
		{10, 1_000_000_000, "this model needs 9.3 GB or more, 1.0 GB are free; use a smaller --n-layer or --n-embd"},
		{1 << 62, 2e18, "this model needs 3386522341661411328.0 GB or more, 2000000000.0 GB are free; use a smaller --batch-size or --block-size"},
	} {
		got := ""
		if err := fits(c, k.batch, k.free); err != nil {
			got = err.Error()
		}
		if got != k.want {
			t.Errorf("batch %d, %d free: %q, want %q", k.batch, k.free, got, k.want)
		}
	}
}

func TestAvailableMemory(t *testing.T) {
	const info = "MemTotal:       24683724 kB\nMemFree:        18123456 kB\nMemAvailable:   22779000 kB\nBuffers:          123456 kB\n"
	if n, ok := availableMemory([]byte(info)); n != 22779000*1024 || !ok {
		t.Errorf("%d, %v", n, ok)
	}
	for _, text := range []string{"", "MemTotal: 5 kB\n", "MemAvailable: x kB\n", "MemAvailable: 5\n", "MemAvailable: 5 MB\n"} {
		if n, ok := availableMemory([]byte(text)); ok {
			t.Errorf("%q: %d bytes", text, n)
		}
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
