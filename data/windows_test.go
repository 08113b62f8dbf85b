package data

import (
	"testing"

	"pgregory.net/rapid"
)

// walk returns the counted targets of a walk in order, after checking that each input precedes its
// target and that what is not counted is padding at the end of a window.
func walk(t rapid.TB, e *EvalWindows, block, batch int) (targets, windowStarts []int) {
	t.Helper()
	var b Batch
	batches := 0
	for ; e.Next(&b); batches++ {
		if b.B != batch || b.T != block {
			t.Fatalf("batch of (%d, %d), want (%d, %d)", b.B, b.T, batch, block)
		}
		for i := range b.B {
			inputs, want := b.row(i)
			counted := 0
			for j := range want {
				if want[j] == IgnoreIndex {
					if inputs[j] != 0 {
						t.Fatalf("padding %d", inputs[j])
					}
					continue
				}
				if counted != j || want[j] != inputs[j]+1 || inputs[j] != inputs[0]+int32(j) {
					t.Fatalf("window %v with targets %v", inputs, want)
				}
				counted++
				targets = append(targets, int(want[j]))
			}
			if counted > 0 {
				windowStarts = append(windowStarts, int(inputs[0]))
			}
		}
	}
	if batches != e.Batches() {
		t.Fatalf("%d batches, %d announced", batches, e.Batches())
	}
	return targets, windowStarts
}

// Every target is counted once, in order; the whole text when it fits, limit of them otherwise; and
// windows are spaced evenly (gaps differ by at most one token) from the first token to the last.
func TestEvalWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 3000).Draw(t, "n")
		block := rapid.IntRange(1, 300).Draw(t, "block")
		batch := rapid.IntRange(1, 20).Draw(t, "batch")
		limit := rapid.IntRange(0, 3000).Draw(t, "limit")
		e, err := NewEvalWindows(count(n), block, batch, limit)
		if err != nil {
			t.Fatal(err)
		}
		targets, windows := walk(t, e, block, batch)
		want := n - 1
		if limit > 0 && limit < want {
			want = limit
		}
		if len(targets) != want || e.Targets() != want {
			t.Fatalf("%d targets counted, %d announced, want %d", len(targets), e.Targets(), want)
		}
		for i := 1; i < len(targets); i++ {
			if targets[i] <= targets[i-1] {
				t.Fatalf("target %d after %d", targets[i], targets[i-1])
			}
		}
		if windows[0] != 0 || len(windows) > 1 && targets[len(targets)-1] != n-1 {
			t.Fatalf("windows start at %v, last target %d of %d", windows, targets[len(targets)-1], n-1)
		}
		for i := 2; i < len(windows); i++ {
			if gap, first := windows[i]-windows[i-1], windows[1]-windows[0]; gap < first-1 || gap > first+1 {
				t.Fatalf("uneven starts %v", windows)
			}
		}
		e.Reset()
		again, _ := walk(t, e, block, batch)
		if len(again) != len(targets) || again[0] != targets[0] {
			t.Fatal("the second walk differs")
		}
	})
}

func TestEvalWindowsRefuses(t *testing.T) {
	for _, test := range []struct{ n, block, batch, limit int }{
		{0, 4, 1, 0}, {1, 4, 1, 0}, {9, 0, 1, 0}, {9, 4, 0, 0}, {9, 4, 1, -1},
	} {
		if _, err := NewEvalWindows(count(test.n), test.block, test.batch, test.limit); err == nil {
			t.Errorf("%+v was taken", test)
		}
	}
}
