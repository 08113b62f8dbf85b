// Package tales writes small stories by chance. Every choice is drawn evenly from a list of a grammar,
// and the grammar gives each text in one way only, so that the choices' bits are exactly what the
// text holds: on average, no model can predict it in fewer.
package tales

import (
	"bytes"
	"math"
	"math/rand/v2"
)

// Tales is a text and the choices it came from.
type Tales struct {
	Text    []byte
	choices []choice
}

// choice is one draw from a rule's list.
type choice struct {
	offset int // in Text, where what was drawn begins
	among  int // length of the list
}

// Write returns whole tales, drawn by a PCG generator from seed, until the text has at least size bytes.
func Write(seed uint64, size int) Tales {
	w := &writer{rng: rand.New(rand.NewPCG(seed, 0))}
	for w.text.Len() < size {
		w.drawn = make(map[string]string)
		w.write("tale")
	}
	return Tales{Text: w.text.Bytes(), choices: w.choices}
}

// Bits returns the sum of log2(length of the list) over the choices that begin at byte offset from or
// later. From 0 it is the code length of the whole text; from another offset it is that of the
// rest given what stands before, but for the few choices that are half written there.
func (t Tales) Bits(from int) float64 {
	bits := 0.0
	for _, c := range t.choices {
		if c.offset >= from {
			bits += math.Log2(float64(c.among))
		}
	}
	return bits
}

type writer struct {
	rng     *rand.Rand
	text    bytes.Buffer
	choices []choice
	drawn   map[string]string // what the present tale remembers, by name
}

// write draws one of the alternatives of a rule and writes its parts.
func (w *writer) write(rule string) {
	alternatives := rules[rule]
	w.choices = append(w.choices, choice{offset: w.text.Len(), among: len(alternatives)})
	for _, p := range alternatives[w.rng.IntN(len(alternatives))] {
		switch {
		case p.literal != "":
			w.text.WriteString(p.literal)
		case p.rule == "":
			w.text.WriteString(w.drawn[p.name])
		default:
			start := w.text.Len()
			w.write(p.rule)
			if p.name != "" {
				w.drawn[p.name] = string(w.text.Bytes()[start:])
			}
		}
	}
}
