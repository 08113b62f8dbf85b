package train

import (
	"testing"

	"gorgonia.org/tensor"

	"tinylm/layers"
)

// BenchmarkStepS is a whole training step of the shape S: 4 layers, 4 heads, width 128, block 64, batch 12,
// vocabulary 65. It reports tokens a second and the arithmetic rate by Config.FLOPsPerToken.
func BenchmarkStepS(b *testing.B) {
	m, err := layers.NewGPT(layers.Config{Layers: 4, Heads: 4, Width: 128, Context: 64, Vocab: 65}, tensor.Float32)
	if err != nil {
		b.Fatal(err)
	}
	m.Init(1)
	o := Defaults()
	t, err := NewTrainer(m, randomTokens(10_000, 65), nil, o)
	if err != nil {
		b.Fatal(err)
	}
	flops, err := m.Config.FLOPsPerToken()
	if err != nil {
		b.Fatal(err)
	}
	tokens := 0
	for b.Loop() {
		s, err := t.Step()
		if err != nil {
			b.Fatal(err)
		}
		tokens += s.Tokens
	}
	rate := float64(tokens) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "tokens/s")
	b.ReportMetric(rate*float64(flops)/1e9, "GF/s")
}
