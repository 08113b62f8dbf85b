// Package bench measures how fast the trainer is: whole training steps, attention, matrix products and
// generation, each beside what the machine can do at best, measured in the same process.
//
// Times are of the wall clock. Rates are in units of 1e9 a second, memory in MB of 1<<20 bytes.
package bench

import (
	"fmt"
	"strings"

	"tinylm/layers"
)

// Shape is a model and a batch that speed is measured with.
type Shape struct {
	Name                                  string
	Layers, Heads, Width, Block, Batch, V int
}

// Shapes are the shapes by which trainers are compared, the smallest first.
var Shapes = []Shape{
	{"S", 4, 4, 128, 64, 12, 65},
	{"M", 6, 6, 384, 256, 16, 65},
	{"L", 12, 12, 768, 512, 2, 50257},
}

// Named returns the shape of a name.
func Named(name string) (Shape, error) {
	var names []string
	for _, s := range Shapes {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Shape{}, fmt.Errorf("shape %q is not one of %s", name, strings.Join(names, ", "))
}

// Config is the shape's model.
func (s Shape) Config() layers.Config {
	return layers.Config{Layers: s.Layers, Heads: s.Heads, Width: s.Width, Context: s.Block, Vocab: s.V}
}

// Tokens is the number of tokens in a step.
func (s Shape) Tokens() int { return s.Batch * s.Block }
