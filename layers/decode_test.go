package layers

import (
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"tinylm/graph/machine"
)

// decodeTest runs decode graphs over one cache.
type decodeTest struct {
	t     *testing.T
	m     *GPT
	cache *Cache
	runs  map[[2]int]func() // by texts and tokens
	graph map[[2]int]*DecodeGraph
}

func newDecodeTest(t *testing.T, m *GPT, texts int) *decodeTest {
	return &decodeTest{t: t, m: m, cache: must(m.NewCache(texts)), runs: map[[2]int]func(){}, graph: map[[2]int]*DecodeGraph{}}
}

// step is some tokens of one text.
type step struct {
	row, position int
	ids           []int32
}

// run gives a graph of so many texts and tokens some steps, the other texts idle, and returns their logits.
func (d *decodeTest) run(texts, tokens int, steps ...step) [][]float64 {
	d.t.Helper()
	key := [2]int{texts, tokens}
	if d.graph[key] == nil {
		g := must(d.m.DecodeGraph(d.cache, texts, tokens))
		vm := must(machine.New(g.Graph, machine.Outputs(g.Logits)))
		d.graph[key] = g
		d.runs[key] = func() {
			if err := vm.RunAll(); err != nil {
				d.t.Fatal(err)
			}
		}
	}
	g := d.graph[key]
	for b := range texts {
		g.Idle(b)
	}
	for b, s := range steps {
		g.Set(b, s.row, s.position, s.ids)
	}
	d.runs[key]()
	var rows [][]float64
	all := floats(g.Logits)
	for b := range steps {
		rows = append(rows, all[b*d.m.Config.Vocab:][:d.m.Config.Vocab])
	}
	return rows
}

// TestDecodeGraph gives two texts to a cache of three, in parts of several lengths, together and apart, and
// compares with the rows of the graph of the whole texts.
func TestDecodeGraph(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		tol := 1e-9
		if dt == tensor.Float32 {
			tol = 1e-5
		}
		for _, c := range []Config{
			small,
			{Layers: 1, Heads: 1, Width: 7, Context: 9, Vocab: 11, NoBias: true, Untied: true, Activation: ReLU},
			{Layers: 3, Heads: 4, Width: 16, Context: 9, Vocab: 11, Activation: GELUExact, Dropout: 0.5, Inner: 10},
		} {
			m := newSmall(c, dt)
			whole := must(m.LogitsGraph(2, 9, GraphOptions{}))
			fillSmall(whole, c.Vocab)
			run(t, whole.Graph, whole.Logits)
			all := floats(whole.Logits)
			text := func(b, from, to int) []int32 { return whole.IDs.Data[b*9:][from:to] }
			want := func(b, position int) []float64 { return all[(b*9+position)*c.Vocab:][:c.Vocab] }

			d := newDecodeTest(t, m, 3)
			near(t, "two tokens of text 0, two of padding", d.run(1, 4, step{2, 0, text(0, 0, 2)})[0], want(0, 1), tol)
			near(t, "four of text 1", d.run(1, 4, step{0, 0, text(1, 0, 4)})[0], want(1, 3), tol)
			for i := range 3 { // text 0 is two tokens behind
				got := d.run(3, 1, step{0, 4 + i, text(1, 4+i, 5+i)}, step{2, 2 + i, text(0, 2+i, 3+i)})
				near(t, "text 1 beside another", got[0], want(1, 4+i), tol)
				near(t, "text 0 beside another", got[1], want(0, 2+i), tol)
			}
			d.cache.Copy(1, 2, 5)
			got := d.run(2, 4, step{1, 5, text(0, 5, 9)}, step{2, 5, text(0, 5, 8)})
			near(t, "a copy, to the end of the context", got[0], want(0, 8), tol)
			near(t, "the original", got[1], want(0, 7), tol)
			near(t, "the last token of text 1", d.run(1, 1, step{0, 7, text(1, 7, 8)})[0], want(1, 7), tol)
		}
	}
}

func TestDecodeGraphErrors(t *testing.T) {
	m := newSmall(small, tensor.Float32)
	if _, err := m.NewCache(0); err == nil || !strings.Contains(err.Error(), "0 texts") {
		t.Errorf("a cache of no texts: %v", err)
	}
	cache := must(m.NewCache(2))
	for _, c := range []struct{ batch, time int }{{0, 1}, {3, 1}, {1, 0}, {1, 10}} {
		if _, err := m.DecodeGraph(cache, c.batch, c.time); err == nil || !strings.Contains(err.Error(), "1 to 9, the context, of 1 to 2") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for what, other := range map[string]*GPT{"another model": newSmall(small, tensor.Float32), "a model that sees the future": m} {
		other.Causal = other != m
		if _, err := other.DecodeGraph(cache, 1, 1); err == nil || !strings.Contains(err.Error(), "its own model's causal attention") {
			t.Errorf("%s: %v", what, err)
		}
	}
	m.Causal = true
	g := must(m.DecodeGraph(cache, 1, 4))
	vm := must(machine.New(g.Graph, machine.Outputs(g.Logits)))
	g.Set(0, 1, 6, []int32{1})
	if err := vm.RunAll(); err == nil || !strings.Contains(err.Error(), "position 9") && !strings.Contains(err.Error(), "id 9") {
		t.Errorf("four tokens at position 6 of 9: %v", err)
	}
}

// TestCacheBytes compares with the memory of the tensors.
func TestCacheBytes(t *testing.T) {
	for _, c := range []Config{small, {Layers: 12, Heads: 12, Width: 768, Context: 64, Vocab: 2}} {
		m := must(NewGPT(c, tensor.Float32))
		var bytes int64
		for _, l := range must(m.NewCache(3)).layers {
			bytes += int64(l.keys.MemSize()) + int64(l.values.MemSize())
		}
		if got := c.CacheBytes(3); got != bytes {
			t.Errorf("%+v: %d bytes, the tensors take %d", c, got, bytes)
		}
	}
}

// A run over the cache computes the new tokens alone: no operator of the graph of one token has more rows.
func TestDecodeGraphIsOfOneToken(t *testing.T) {
	m := newSmall(small, tensor.Float32)
	g := must(m.DecodeGraph(must(m.NewCache(1)), 1, 1))
	for _, n := range g.Graph.AllNodes() {
		if n.Op() != nil && n.Shape().TotalSize() > max(4*small.Width, small.Vocab) {
			t.Errorf("%v has %v elements", n, n.Shape())
		}
	}
}
