package layers

import (
	"gorgonia.org/gorgonia"

	"tinylm/graph"
	"tinylm/graph/composed"
)

// operators are the graph builders that layers use, in one form: fused or composed.
type operators struct {
	linear           func(x, w, b *gorgonia.Node) (*gorgonia.Node, error)
	linearTransposed func(x, w *gorgonia.Node) (*gorgonia.Node, error)
	add              func(x, y *gorgonia.Node) (*gorgonia.Node, error)
	embedding        func(table, ids *gorgonia.Node) (*gorgonia.Node, error)
	layerNorm        func(x, weight, bias *gorgonia.Node, eps float64) (*gorgonia.Node, error)
	dropout          func(x *gorgonia.Node, c graph.DropoutConfig) (*gorgonia.Node, error)
	activation       map[Activation]func(x *gorgonia.Node) (*gorgonia.Node, error)
	crossEntropySum  func(logits, targets *gorgonia.Node) (loss, count *gorgonia.Node, err error)

	// The attentions give their weights (B, H, Tq, Tk) too, nil when the form never has them.
	attention       func(qkv *gorgonia.Node, c graph.AttentionConfig) (y, weights *gorgonia.Node, err error)
	attentionByHead func(q, k, v *gorgonia.Node, c graph.AttentionConfig) (y, weights *gorgonia.Node, err error)
}

// fusedOperators run one kernel each.
var fusedOperators = operators{
	linear:           graph.Linear,
	linearTransposed: graph.LinearTransposed,
	add:              graph.Add,
	embedding:        graph.Embedding,
	layerNorm:        graph.LayerNorm,
	dropout:          graph.Dropout,
	activation: map[Activation]func(*gorgonia.Node) (*gorgonia.Node, error){
		ReLU: graph.ReLU, GELUTanh: graph.GELU, GELUExact: graph.GELUExact,
	},
	crossEntropySum: graph.CrossEntropySum,
	attention: func(qkv *gorgonia.Node, c graph.AttentionConfig) (*gorgonia.Node, *gorgonia.Node, error) {
		y, err := graph.Attention(qkv, c)
		return y, nil, err
	},
	attentionByHead: func(q, k, v *gorgonia.Node, c graph.AttentionConfig) (*gorgonia.Node, *gorgonia.Node, error) {
		y, err := graph.ScaledDotProductAttention(q, k, v, c)
		return y, nil, err
	},
}

// composedOperators are spelled out in primitive nodes.
var composedOperators = operators{
	linear:           composed.Linear,
	linearTransposed: composed.LinearTransposed,
	add:              composed.Add,
	embedding:        composed.Embedding,
	layerNorm:        composed.LayerNorm,
	dropout:          composed.Dropout,
	activation: map[Activation]func(*gorgonia.Node) (*gorgonia.Node, error){
		ReLU: composed.ReLU, GELUTanh: composed.GELU, GELUExact: composed.GELUExact,
	},
	crossEntropySum: composed.CrossEntropySum,
	attention:       composed.Attention,
	attentionByHead: composed.ScaledDotProductAttention,
}
