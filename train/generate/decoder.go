package generate

import (
	"fmt"
	"slices"

	"tinylm/graph/machine"
	"tinylm/layers"
)

// Decoder runs a model over texts that grow: it keeps the keys and values of the tokens that each has so far,
// so that a new token costs one pass over the weights whatever came before it. Texts are numbered from 0.
//
// A text longer than the model's context slides: when the context is full, the next token takes the place of
// the first half of them. The window is then computed anew in one pass, because positions count from its first
// token; this happens once in half a context, so a token costs little more for it. What the model sees is so
// always between half its context and all of it.
//
// The logits of a text do not depend on the others, or on the number of workers.
//
// A Decoder shares the weights of its model and is for one goroutine.
type Decoder struct {
	model *Model
	cache *layers.Cache
	texts []window
	runs  map[runShape]*run // made when first needed
	going []int             // texts of the next run, kept for its memory
}

// window is what the cache holds of a text.
type window struct {
	ids    []int32   // at most the context
	logits []float64 // (V), after the last of them
}

// runShape says how many texts and how many tokens of each a graph takes.
type runShape struct{ texts, tokens int }

// run is a graph of the next tokens, ready to run.
type run struct {
	graph   *layers.DecodeGraph
	machine *machine.Machine
	f32     []float32 // the logits (B, V), of the one type or of the other, once it has run
	f64     []float64
}

// NewDecoder returns a decoder of so many texts, all empty. Its memory is that of layers.Config.CacheBytes, and
// that of the graphs that it comes to need.
func (m *Model) NewDecoder(texts int) (*Decoder, error) {
	cache, err := m.GPT.NewCache(texts)
	if err != nil {
		return nil, err
	}
	d := &Decoder{model: m, cache: cache, texts: make([]window, texts), runs: map[runShape]*run{}, going: make([]int, 0, texts)}
	for i := range d.texts {
		d.texts[i] = window{ids: make([]int32, 0, d.context()), logits: make([]float64, m.GPT.Config.Vocab)}
	}
	return d, nil
}

func (d *Decoder) context() int { return d.model.GPT.Config.Context }

// Position returns the number of tokens of a text that the model sees, which is the position of its next one.
func (d *Decoder) Position(text int) int { return len(d.texts[text].ids) }

// Logits returns the scores (V) of the token that follows a text; they are valid until that text's next token.
func (d *Decoder) Logits(text int) []float64 { return d.texts[text].logits }

// Fill begins a text anew with the last Context of ids, of which there must be some. It takes as few passes over
// the weights as their number allows without much padding; mostly one.
func (d *Decoder) Fill(text int, ids []int32) error {
	if len(ids) == 0 {
		return fmt.Errorf("a text begins with at least one token")
	}
	w := &d.texts[text]
	w.ids = w.ids[:0]
	for rest := ids[max(0, len(ids)-d.context()):]; len(rest) > 0; {
		n := pieceLen(len(rest), d.context()-len(w.ids), d.context())
		r, err := d.run(runShape{1, n})
		if err != nil {
			return err
		}
		part := rest[:min(n, len(rest))]
		r.graph.Set(0, text, len(w.ids), part)
		if err := r.machine.RunAll(); err != nil {
			return err
		}
		w.ids, rest = append(w.ids, part...), rest[len(part):]
		r.logits(0, w.logits)
	}
	return nil
}

// Copy makes text to the same as text from, which costs less than to fill it.
func (d *Decoder) Copy(to, from int) {
	w := &d.texts[to]
	w.ids = append(w.ids[:0], d.texts[from].ids...)
	copy(w.logits, d.texts[from].logits)
	d.cache.Copy(to, from, len(w.ids))
}

// Next appends ids[i] to texts[i], all different and none of them empty. Up to eight texts share a pass over the
// weights.
func (d *Decoder) Next(texts []int, ids []int32) error {
	d.going = d.going[:0]
	for i, text := range texts {
		w := &d.texts[text]
		if len(w.ids) == d.context() {
			if err := d.slide(text, ids[i]); err != nil {
				return err
			}
			continue
		}
		w.ids = append(w.ids, ids[i])
		d.going = append(d.going, text)
	}
	if len(d.going) == 0 {
		return nil
	}
	return d.step()
}

// slide keeps the last half of a full window, id included.
func (d *Decoder) slide(text int, id int32) error {
	w := &d.texts[text]
	kept := max(1, d.context()/2)
	copy(w.ids, w.ids[1:])
	w.ids[len(w.ids)-1] = id
	return d.Fill(text, w.ids[len(w.ids)-kept:])
}

// together is the most texts of a run: few enough that reading the weights is what takes the time, and that the
// product of a text's row does not depend on how many there are.
const together = 8

// step computes the last token of the texts that are going.
func (d *Decoder) step() error {
	for part := range slices.Chunk(d.going, together) {
		if err := d.stepTogether(part); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) stepTogether(texts []int) error {
	size := 1 // so that few graphs serve any number of texts
	for size < len(texts) {
		size *= 2
	}
	size = min(size, len(d.texts))
	r, err := d.run(runShape{size, 1})
	if err != nil {
		return err
	}
	for b := range size {
		r.graph.Idle(b)
	}
	for b, text := range texts {
		ids := d.texts[text].ids
		r.graph.Set(b, text, len(ids)-1, ids[len(ids)-1:])
	}
	if err := r.machine.RunAll(); err != nil {
		return err
	}
	for b, text := range texts {
		r.logits(b, d.texts[text].logits)
	}
	return nil
}

// run returns the graph of a shape, made at its first use.
func (d *Decoder) run(s runShape) (*run, error) {
	if r, ok := d.runs[s]; ok {
		return r, nil
	}
	g, err := d.model.GPT.DecodeGraph(d.cache, s.texts, s.tokens)
	if err != nil {
		return nil, err
	}
	vm, err := machine.New(g.Graph, machine.On(d.model.dev), machine.Outputs(g.Logits))
	if err != nil {
		return nil, err
	}
	d.runs[s] = &run{graph: g, machine: vm}
	return d.runs[s], nil
}

// logits copies those of text b of the last run.
func (r *run) logits(b int, to []float64) {
	if r.f32 == nil && r.f64 == nil {
		switch all := r.graph.Logits.Value().Data().(type) { // memory of the machine, the same in every run
		case []float32:
			r.f32 = all
		case []float64:
			r.f64 = all
		}
	}
	if r.f64 != nil {
		copy(to, r.f64[b*len(to):])
		return
	}
	for i, x := range r.f32[b*len(to):][:len(to)] {
		to[i] = float64(x)
	}
}

// shortest is the least number of tokens, but for a single one, that a graph takes: a pass with as many costs
// little more than one with a single token, which reads the same weights.
const shortest = 16

// pieceLen returns how many tokens the next pass takes of n that are to come, where room positions are left:
// 1, or a power of two from shortest on, or the context. It is the smallest such number for all of them, if
// that has little padding, and the largest without any otherwise.
func pieceLen(n, room, context int) int {
	size := 1
	for s := shortest; n > 1; s *= 2 {
		s = min(s, context)
		if s > room {
			break
		}
		if s >= n {
			if s-n <= max(shortest, s/4) {
				size = s
			}
			break
		}
		size = s
	}
	return size
}
