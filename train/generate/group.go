package generate

import "slices"

// group is several texts that are drawn at once.
type group struct {
	model    *Model
	decoder  *Decoder
	prompts  [][]int32
	options  []Options
	samplers []*sampler
	drawn    int     // tokens of each text so far
	texts    []int   // those that go on
	ids      []int32 // their last tokens
}

// newGroup checks the input; the first run reads the prompts.
func (m *Model) newGroup(prompts [][]int32, options []Options) (*group, error) {
	g := &group{model: m, options: options, ids: make([]int32, 0, len(prompts))}
	for i, o := range options {
		p, err := m.begin(prompts[i], o)
		if err != nil {
			return nil, err
		}
		g.prompts = append(g.prompts, p)
		g.samplers = append(g.samplers, newSampler(o))
		g.texts = append(g.texts, i)
	}
	var err error
	g.decoder, err = m.take(len(prompts))
	return g, err
}

func (g *group) going() bool { return len(g.texts) > 0 }

// run computes the logits of the next token of every text that goes on.
func (g *group) run() error {
	if g.drawn > 0 {
		return g.decoder.Next(g.texts, g.ids)
	}
	for i, p := range g.prompts {
		same := slices.IndexFunc(g.prompts[:i], func(q []int32) bool { return slices.Equal(p, q) })
		if same >= 0 {
			g.decoder.Copy(i, same)
		} else if err := g.decoder.Fill(i, p); err != nil {
			return err
		}
	}
	return nil
}

// drawNext draws the next token of every text that goes on.
func (g *group) drawNext(each func(token) (more bool, err error), ended func(text int) error) error {
	texts := g.texts
	g.texts, g.ids = texts[:0], g.ids[:0]
	g.drawn++
	for _, i := range texts {
		id, err := g.samplers[i].draw(g.decoder.Logits(i))
		if err != nil {
			return err
		}
		more := int(id) != g.model.Tokenizer.EndOfText()
		if more {
			if more, err = each(token{text: i, id: id, seen: g.decoder.Position(i)}); err != nil {
				return err
			}
		}
		if more && g.drawn < g.options[i].MaxNewTokens {
			g.texts, g.ids = append(g.texts, i), append(g.ids, id)
		} else if err := ended(i); err != nil {
			return err
		}
	}
	return nil
}
