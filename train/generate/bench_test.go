package generate

import (
	"fmt"
	"testing"

	"gorgonia.org/tensor"

	"tinylm/layers"
)

// large is GPT-2's smallest model: 12 layers, 12 heads, width 768, context 1024, vocabulary 50,257.
func large(b *testing.B) *Model {
	gpt, err := layers.NewGPT(layers.Config{Layers: 12, Heads: 12, Width: 768, Context: 1024, Vocab: 50257}, tensor.Float32)
	if err != nil {
		b.Fatal(err)
	}
	gpt.Init(1)
	return New(gpt, nil)
}

// BenchmarkDecode is a token of some texts at some position. It reports how many bytes of weights it goes through
// in a second: each of them once for all texts, but the table of positions.
func BenchmarkDecode(b *testing.B) {
	m := large(b)
	for _, c := range []struct{ texts, position int }{{1, 10}, {1, 1000}, {8, 10}, {8, 1000}} {
		b.Run(fmt.Sprintf("texts=%d/position=%d", c.texts, c.position), func(b *testing.B) {
			d, err := m.NewDecoder(c.texts)
			if err != nil {
				b.Fatal(err)
			}
			texts, ids := make([]int, c.texts), make([]int32, c.texts)
			for i := range texts {
				texts[i] = i
				d.texts[i].ids = append(d.texts[i].ids, tokens(c.position, 50257, i)...) // of a cache of zeros
			}
			for b.Loop() {
				if err := d.Next(texts, ids); err != nil {
					b.Fatal(err)
				}
				for i := range texts {
					d.texts[i].ids = d.texts[i].ids[:c.position]
				}
			}
			_, weights, err := m.GPT.Config.ParameterCount()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(4*float64(weights)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
		})
	}
}

// BenchmarkFill is a prompt.
func BenchmarkFill(b *testing.B) {
	m := large(b)
	d, err := m.NewDecoder(1)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{16, 64, 700, 1024} {
		b.Run(fmt.Sprintf("tokens=%d", n), func(b *testing.B) {
			prompt := tokens(n, 50257, 1)
			for b.Loop() {
				if err := d.Fill(0, prompt); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
