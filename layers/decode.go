package layers

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"tinylm/graph"
)

// Cache holds the keys and values of the tokens that texts have so far, a row for each text, so that a graph of
// the next tokens computes these alone. It is memory between runs: every run of a DecodeGraph writes it.
type Cache struct {
	texts  int
	layers map[*MultiHeadAttention]cachedLayer
}

// cachedLayer is the cache of one attention: keys and values (texts, H, Context, D). The positions of a head lie
// one after the other, in the order in which a new token reads them.
type cachedLayer struct{ keys, values *tensor.Dense }

// NewCache returns the cache of so many texts, of up to m.Config.Context tokens each.
func (m *GPT) NewCache(texts int) (*Cache, error) {
	if texts < 1 {
		return nil, fmt.Errorf("gpt: a cache of %d texts; want at least 1", texts)
	}
	c := &Cache{texts: texts, layers: map[*MultiHeadAttention]cachedLayer{}}
	shape := []int{texts, m.Config.Heads, m.Config.Context, m.Config.Width / m.Config.Heads}
	for _, b := range m.Blocks {
		c.layers[b.Attention] = cachedLayer{
			keys:   tensor.New(tensor.WithShape(shape...), tensor.Of(m.params.dtype)),
			values: tensor.New(tensor.WithShape(shape...), tensor.Of(m.params.dtype)),
		}
	}
	return c, nil
}

// CacheBytes returns the memory of a cache of so many texts in float32: keys and values of Width numbers for
// each layer and position.
func (c Config) CacheBytes(texts int) int64 {
	const bytes = 4
	return 2 * bytes * int64(c.Layers) * int64(c.Width) * int64(c.Context) * int64(texts)
}

// Copy makes the first n positions of one row those of another: a second text that goes on from the same tokens.
func (c *Cache) Copy(to, from, n int) {
	for _, l := range c.layers {
		for _, t := range []*tensor.Dense{l.keys, l.values} {
			switch data := t.Data().(type) {
			case []float32:
				copyRow(data, t.Shape(), to, from, n)
			case []float64:
				copyRow(data, t.Shape(), to, from, n)
			}
		}
	}
}

// copyRow copies n positions of every head within data (texts, H, Context, D).
func copyRow[F Float](data []F, shape tensor.Shape, to, from, n int) {
	heads, head := shape[1], shape[2]*shape[3]
	for h := range heads {
		copy(data[(to*heads+h)*head:][:n*shape[3]], data[(from*heads+h)*head:])
	}
}

// DecodeGraph is a finished graph of the logits after the next tokens of some texts, over the model's weights
// and a cache. Set the inputs and run it with graph/machine.
type DecodeGraph struct {
	Graph  *gorgonia.ExprGraph
	Logits *gorgonia.Node // (B, V)

	time      int
	ids       Input[int32] // (B, T)
	positions Input[int32] // (B, T)
	at        Input[int32] // (B, 2): row of the cache, -1 for none, and position of the first token
	last      Input[int32] // (B): the row of (B*T) whose logits are wanted; no node when T is 1
}

// DecodeGraph builds the graph of the next 1 to time tokens of up to batch texts that c holds. Each run computes
// these tokens alone, and the logits after the last of them.
func (m *GPT) DecodeGraph(c *Cache, batch, time int) (*DecodeGraph, error) {
	if batch < 1 || batch > c.texts || time < 1 || time > m.Config.Context {
		return nil, fmt.Errorf("gpt: %d tokens of %d texts; want 1 to %d, the context, of 1 to %d, which the cache holds",
			time, batch, m.Config.Context, c.texts)
	}
	d := &DecodeGraph{Graph: gorgonia.NewGraph(), time: time}
	d.ids = NewInput[int32](d.Graph, "ids", batch, time)
	d.positions = NewInput[int32](d.Graph, "positions", batch, time)
	d.at = NewInput[int32](d.Graph, "at", batch, 2)
	for b := range batch {
		d.Idle(b)
	}
	s := NewScope(d.Graph, m.params)
	s.cache = &cacheScope{Cache: c, at: d.at.Node}
	x, err := m.hidden(s, d.ids.Node, d.positions.Node) // (B, T, C)
	if err != nil {
		return nil, err
	}
	if x, err = graph.Reshape(x, batch*time, m.Config.Width); err != nil { // (B*T, C)
		return nil, err
	}
	if d.last.Data = make([]int32, batch); time > 1 {
		d.last = NewInput[int32](d.Graph, "last", batch)
		if x, err = graph.Embedding(x, d.last.Node); err != nil { // (B, C)
			return nil, err
		}
	}
	d.Logits, err = m.scores(s, x) // (B, V)
	return d, err
}

// Set gives text b of the next run its row of the cache, and 1 to T tokens that stand at position and after it.
// Fewer are padded with what was there: the cache must have room for all T, those behind the text's own are
// overwritten when their time comes.
func (d *DecodeGraph) Set(b, row, position int, ids []int32) {
	copy(d.ids.Data[b*d.time:][:d.time], ids)
	for i := range d.time {
		d.positions.Data[b*d.time+i] = int32(position + i)
	}
	d.at.Data[2*b], d.at.Data[2*b+1] = int32(row), int32(position)
	d.last.Data[b] = int32(b*d.time + len(ids) - 1)
}

// Idle leaves text b out of the next run.
func (d *DecodeGraph) Idle(b int) { d.at.Data[2*b], d.at.Data[2*b+1] = -1, 0 }

// cacheScope is a cache inside a graph that is being built.
type cacheScope struct {
	*Cache
	at *gorgonia.Node // (B, 2)
}

// attend maps qkv (B, T, 3C) to (B, T, C), by way of the cache.
func (c *cacheScope) attend(m *MultiHeadAttention, qkv *gorgonia.Node, mask Mask) (*gorgonia.Node, error) {
	l, ok := c.layers[m]
	if !ok || !mask.Causal || mask.Node != nil {
		return nil, fmt.Errorf("a cache is for its own model's causal attention without a mask")
	}
	input := func(name string, t *tensor.Dense) *gorgonia.Node {
		return gorgonia.NewTensor(qkv.Graph(), t.Dtype(), t.Dims(), gorgonia.WithShape(t.Shape()...),
			gorgonia.WithName(m.Name+"."+name), gorgonia.WithValue(t))
	}
	return graph.CachedAttention(input("keys", l.keys), input("values", l.values), qkv, c.at)
}
