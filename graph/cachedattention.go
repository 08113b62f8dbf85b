package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"tinylm/internal/device"
	"tinylm/internal/node"
)

// CachedAttention is causal multi-head self-attention of the next T tokens of B texts on all tokens that
// these texts have so far: qkv (B, T, 3C) is their fused projection, as for Attention; result (B, T, C).
//
// The keys and values of a text are kept from run to run, in a cache of R texts of M tokens at most: keys
// and values (R, H, M, D), C = H*D. They are inputs of the graph whose memory the operator writes. at (B, 2),
// of type int32, int64 or int, says of each text which row of the cache it has, -1 for none, and the position
// of its first token in qkv. Token i is stored at position at[b,1]+i, and sees the positions 0 to that one. A
// text without a row gives zeros. A row or a position that the cache does not have, and a row that two texts
// have, are errors at run time. There is no gradient: the cache is of use only where weights stay as they are.
func CachedAttention(keys, values, qkv, at *gorgonia.Node) (*gorgonia.Node, error) {
	t, err := float(keys, values, qkv)
	if err == nil {
		err = integer(at)
	}
	if err != nil {
		return nil, fmt.Errorf("attention.cached: %w", err)
	}
	for _, n := range []*gorgonia.Node{keys, values} {
		if n.Op() != nil {
			return nil, fmt.Errorf("attention.cached: %s is computed; keys and values must be inputs, whose memory outlives a run", n.Name())
		}
	}
	if keys == values || keys.Dims() != 4 || !equal(keys.Shape(), values.Shape()) {
		return nil, fmt.Errorf("attention.cached: keys and values %s; want two inputs (R, H, M, D)", shapes(keys, values))
	}
	heads, most, d := keys.Shape()[1], keys.Shape()[2], keys.Shape()[3]
	if qkv.Dims() != 3 || node.Last(qkv) != 3*heads*d || qkv.Shape()[1] > most {
		return nil, fmt.Errorf("attention.cached: qkv %v with a cache %v; want (B, T, %d) with T of %d at most",
			qkv.Shape(), keys.Shape(), 3*heads*d, most)
	}
	b, n := qkv.Shape()[0], qkv.Shape()[1]
	if !equal(at.Shape(), []int{b, 2}) {
		return nil, fmt.Errorf("attention.cached: at %v; want row and position of each text, [%d 2]", at.Shape(), b)
	}
	return apply(rule{
		kernel: device.CachedAttention{},
		out:    []device.Spec{{DType: t, Shape: []int{b, n, heads * d}}}, // y
	}, keys, values, qkv, at)
}
