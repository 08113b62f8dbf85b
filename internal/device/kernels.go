package device

// Kernel describes one operation on buffers: attributes only, no memory. Legend of the shapes:
// B batch, T time, C channels, H heads, D head width, V vocabulary, N rows (all leading axes together).
// "F" below is Float32 or Float64, the same for all floating-point buffers of a kernel; ids and
// targets are Int32 or Int64.
//
// Sums have a fixed order that depends on the shapes only, never on the number of workers.
type Kernel interface {
	// Name is the kernel's kind in lower case, for plans and errors: "linear", "attention.grad".
	Name() string
	// InPlace tells whether output 0 may lie on input 0.
	InPlace() bool
}

// MatMul multiplies G pairs of matrices.
//
//	in:  a F (G..., M, K), or (G..., K, M) with TransA; b F (G..., K, N), or (G..., N, K) with TransB
//	out: c F (G..., M, N)
type MatMul struct{ TransA, TransB bool }

// Linear is y = (f(x)·W + bias + residual) * g'(at) over the last axis; each attribute that is not set
// leaves its part out. The fused parts cost no pass over memory of their own.
//
//	in:  x F (N..., K); w F (K, M), or (M, K) with TransW; then, when asked for, bias F (M),
//	     residual F (N..., M), at F (N..., M)
//	out: y F (N..., M)
type Linear struct {
	TransW   bool
	Bias     bool
	Residual bool
	Input    ActivationKind // f, applied to x as it is read
	Slope    ActivationKind // g, whose derivative at the last input multiplies the result
}

// LinearWeightGrad is the gradient of Linear for its weight.
//
//	in:  base F, of dw's shape, when Add; x F (N..., K); dy F (N..., M)
//	out: dw F (K, M), or (M, K) with TransW
type LinearWeightGrad struct {
	TransW bool
	Add    bool           // dw begins from base, which it may lie on, and not from 0
	Input  ActivationKind // applied to x as it is read
}

// SumLeading sums over the leading axes, keeping the shape of the output (a suffix of the input's).
//
//	in:  x F (N..., S...)
//	out: y F (S...)
type SumLeading struct{}

// Embedding gathers rows. An id outside 0..V-1 is an error naming id, position and V.
//
//	in:  table F (V, C); ids int (S...)
//	out: y F (S..., C)
type Embedding struct{}

// EmbeddingGrad adds rows into the table's gradient, in the order of the ids.
//
//	in:  base F (V, C) when Add; ids int (S...); dy F (S..., C)
//	out: dtable F (V, C), zero (or base) where no id points
type EmbeddingGrad struct {
	Add bool // dtable begins from base, which it may lie on, and not from 0
}

// LayerNorm normalises rows (Ba et al. 2016): y = weight*(x-mean)*rstd + bias with the biased variance,
// in two passes. rstd is 1/sqrt(var+Eps), or 1/(sqrt(var)+Eps) with StdPlusEps.
//
//	in:  x F (N..., C); weight F (C); bias F (C)
//	out: y F (N..., C); mean F (N); rstd F (N)
type LayerNorm struct {
	Eps        float64
	StdPlusEps bool
}

// LayerNormGrad is the gradient of LayerNorm.
//
//	in:  base F (N..., C) when Add; x F (N..., C); weight F (C); mean F (N); rstd F (N); dy F (N..., C)
//	out: dx F (N..., C); dweight F (C); dbias F (C)
//
// With StdPlusEps a row of deviation 0 has dx = rstd*(dy*weight - its mean): the limit's finite part.
type LayerNormGrad struct {
	Eps        float64
	StdPlusEps bool
	Add        bool // dx is added to base, which it may lie on: the gradient that went around the norm
}

// MaskKind says which mask an attention takes.
type MaskKind uint8

// HiddenScore is the score of a key that a bool mask hides: a weight of 0, but in a row with every key
// hidden, which attends evenly.
const HiddenScore = -1e9

// The masks of attention. All broadcast: shape (Tq, Tk), or (B or 1, H or 1, Tq, Tk).
const (
	NoMask       MaskKind = iota
	BoolMask              // Bool; true = hidden: the score becomes HiddenScore
	AdditiveMask          // F; added to the score; a row of -Inf gives zero weights and output
)

// Attention is scaled dot-product attention (Vaswani et al. 2017, eq. 1) with scores q·k/sqrt(D).
//
// Packed: in  qkv F (B, T, 3C), queries then keys then values, C = Heads*D;
//
//	out y F (B, T, C); stats F (B, Heads, T, 2)
//
// Otherwise: in  q F (B, H, Tq, D); k F (B, H, Tk, D); v F (B, H, Tk, Dv);
//
//	out y F (B, H, Tq, Dv); stats F (B, H, Tq, 2)
//
// After these inputs: mask when Mask != NoMask; rng Int64 (3) when P > 0.
// Causal: query i sees keys 0..i only; a bool mask then acts among those.
// stats holds of each row the maximum of its scores and 1/sum(exp(score-maximum)); (0, 0) for a row
// whose scores are all -Inf. Weights are dropped with probability P, see [Dropout]: the element within
// the sample is (h*Tq+i)*Tk+j.
type Attention struct {
	Heads  int // used when Packed
	Packed bool
	Causal bool
	Mask   MaskKind
	P      float64
	Site   uint32
}

// AttentionGrad is the gradient of Attention for qkv, or for q, k and v.
//
//	in:  the inputs of Attention, then y, stats, dy
//	out: dqkv F (B, T, 3C); or dq, dk, dv
type AttentionGrad Attention

// CachedAttention is causal attention of the next T tokens of B texts on all their tokens so far, whose keys
// and values are kept from launch to launch (incremental self-attention: Shazeer 2019). The cache has room for R texts
// of M tokens.
//
//	in:  keys F (R, Heads, M, D) and values F (R, Heads, M, D), both state: the kernel writes them;
//	     qkv F (B, T, 3C), queries then keys then values, C = Heads*D;
//	     at int (B, 2): of each text its row of the cache, -1 for none, and the position of its first token here
//	out: y F (B, T, C)
//
// Token i of text b is stored at position at[b,1]+i of row at[b,0], and its query sees positions 0..at[b,1]+i.
// A text without a row leaves the cache alone, and its y is 0. A row outside 0..R-1, one that two texts have,
// and a position outside 0..M-T are errors. What a text gives does not depend on the others beside it.
type CachedAttention struct{}

// ActivationKind names an activation function.
type ActivationKind uint8

// The activation functions.
const (
	ReLU      ActivationKind = iota + 1 // max(x, 0); gradient 0 at 0
	GELUTanh                            // x/2*(1+tanh(sqrt(2/pi)*(x+0.044715*x^3))), GPT-2's form
	GELUExact                           // x/2*(1+erf(x/sqrt(2))) (Hendrycks and Gimpel 2016)
)

// Activation applies a function to each element. Where it overflows or meets infinity it has its limit, 0 on
// the left and x on the right, and so has its gradient: 0 and dy. NaN stays NaN.
//
//	in: x F; out: y F, same shape
type Activation struct{ Kind ActivationKind }

// ActivationGrad is the gradient of Activation.
//
//	in: dy F; x F; out: dx F, same shape
type ActivationGrad struct{ Kind ActivationKind }

// Dropout keeps an element with probability 1-P and divides it by 1-P; else it is 0. It is its own
// gradient. Random numbers are Philox4x32-10 (Salmon et al. 2011): key = the seed's low and high words,
// counter = (element/4, sample, Site, step), word element%4 of the result; the element is dropped when
// the word is below round(P*2^32). Element counts within the sample (axis 0), sample in the global batch.
//
//	in:  x F (B, S...); rng Int64 (3): seed, step, index of the first sample of this micro-batch;
//	     residual F (B, S...) when Residual
//	out: y F (B, S...)
type Dropout struct {
	P        float64
	Site     uint32
	Residual bool // y is the residual plus what is kept of x
}

// KeepMask writes the factors of Dropout: 0 or 1/(1-P).
//
//	in: rng Int64 (3); out: mask F (B, S...)
type KeepMask struct {
	P    float64
	Site uint32
}

// Softmax normalises the last axis, subtracting the maximum. With Log it gives the logarithm.
// A row of -Inf gives zeros (Softmax) or -Inf (Log).
//
//	in: x F (N..., V); out: y F (N..., V)
type Softmax struct{ Log bool }

// SoftmaxGrad is the gradient of Softmax, from its output.
//
//	in: dy F (N..., V); y F (N..., V); out: dx F (N..., V)
type SoftmaxGrad struct{ Log bool }

// CrossEntropy is the negative log-likelihood of the targets by log-sum-exp. Targets equal to IgnoreIndex
// do not count; any other target outside 0..V-1 is an error naming value, position and V.
//
//	in:  logits F (N..., V); targets int (N...)
//	out: loss F (), the sum over counted rows, or with Mean their mean (0 when none counts);
//	     count F (); lse F (N), log(sum(exp(logits)))
type CrossEntropy struct {
	IgnoreIndex int
	Mean        bool
}

// CrossEntropyGrad is the gradient of CrossEntropy for the logits.
//
//	in:  logits F (N..., V); targets int (N...); lse F (N); count F (); dloss F ()
//	out: dlogits F (N..., V)
type CrossEntropyGrad CrossEntropy

// CrossEntropyBoth is CrossEntropy and CrossEntropyGrad in one pass over the logits, which dlogits may
// lie on.
//
//	in:  logits F (N..., V); targets int (N...); dloss F ()
//	out: dlogits F (N..., V); loss F (); count F ()
type CrossEntropyBoth CrossEntropy

// Add adds b, whose shape is a's or a suffix of it.
//
//	in: a F (S...); b F; out: y F (S...)
type Add struct{}

// Copy copies the elements; the shapes may differ, their lengths not. It is how reshape computes.
//
//	in: x any type; out: y, same type and length
type Copy struct{}

// Transpose permutes axes: axis i of the output is axis Perm[i] of the input.
//
//	in: x F; out: y F
type Transpose struct{ Perm []int }

// SliceLast takes columns From..To-1 of the last axis.
//
//	in: x F (N..., C); out: y F (N..., To-From)
type SliceLast struct{ From, To int }

// PadLast is the gradient of SliceLast: its input at columns From..To-1, zeros elsewhere.
//
//	in: dy F (N..., To-From); out: dx F (N..., C)
type PadLast struct{ From, To int }

// Expand repeats axes of length 1; input and output have the same rank.
//
//	in: x F; out: y F
type Expand struct{}

// Reduce is the gradient of Expand: it sums over the axes that are 1 in the output.
//
//	in: x F; out: y F, same rank
type Reduce struct{}

// RowMax gives the maximum of each row of the last axis.
//
//	in: x F (N..., C); out: y F (N..., 1)
type RowMax struct{}

// OneHot writes 1 at the id, 0 elsewhere; an id outside 0..V-1 gives a row of zeros.
//
//	in: ids int (S...); out: y F (S..., V)
type OneHot struct{}

// Fill replaces elements by Value and copies the others. With Causal it replaces, in each matrix of the
// last two axes, what stands right of the diagonal (column > row). Otherwise it replaces where the mask
// is true, or not 0; the mask's axes, aligned at the last, are x's or 1.
//
//	in: x F (S...); mask Bool or F unless Causal; out: y F (S...)
type Fill struct {
	Value  float64
	Causal bool
}

// SumSquares adds up the squares in float64.
//
//	in: x F; out: y Float64 ()
type SumSquares struct{}

// AdamW updates parameters in place (Loshchilov and Hutter 2019): decoupled decay, bias correction, Eps
// outside the root. g is multiplied by the gradient scale first.
//
//	in:  w F (N); m F (N); v F (N); g F (N); hyper Float64 (4): learning rate, weight decay,
//	     gradient scale, number of this update counting from 1
//	out: w, m, v: the same buffers as the inputs
type AdamW struct{ Beta1, Beta2, Eps float64 }

// Name and InPlace of each kernel; a gradient carries the name of its kernel and ".grad".
func (MatMul) Name() string           { return "matmul" }
func (Linear) Name() string           { return "linear" }
func (LinearWeightGrad) Name() string { return "linear.wgrad" }
func (SumLeading) Name() string       { return "sumleading" }
func (Embedding) Name() string        { return "embedding" }
func (EmbeddingGrad) Name() string    { return "embedding.grad" }
func (LayerNorm) Name() string        { return "layernorm" }
func (LayerNormGrad) Name() string    { return "layernorm.grad" }
func (Attention) Name() string        { return "attention" }
func (AttentionGrad) Name() string    { return "attention.grad" }
func (CachedAttention) Name() string  { return "attention.cached" }
func (Activation) Name() string       { return "activation" }
func (ActivationGrad) Name() string   { return "activation.grad" }
func (Dropout) Name() string          { return "dropout" }
func (KeepMask) Name() string         { return "keepmask" }
func (Softmax) Name() string          { return "softmax" }
func (SoftmaxGrad) Name() string      { return "softmax.grad" }
func (CrossEntropy) Name() string     { return "crossentropy" }
func (CrossEntropyGrad) Name() string { return "crossentropy.grad" }
func (CrossEntropyBoth) Name() string { return "crossentropy.both" }
func (Add) Name() string              { return "add" }
func (Copy) Name() string             { return "copy" }
func (Transpose) Name() string        { return "transpose" }
func (SliceLast) Name() string        { return "slice" }
func (PadLast) Name() string          { return "pad" }
func (Expand) Name() string           { return "expand" }
func (Reduce) Name() string           { return "reduce" }
func (RowMax) Name() string           { return "rowmax" }
func (OneHot) Name() string           { return "onehot" }
func (Fill) Name() string             { return "fill" }
func (SumSquares) Name() string       { return "sumsquares" }
func (AdamW) Name() string            { return "adamw" }

func (MatMul) InPlace() bool             { return false }
func (Linear) InPlace() bool             { return false }
func (k LinearWeightGrad) InPlace() bool { return k.Add }
func (SumLeading) InPlace() bool         { return false }
func (Embedding) InPlace() bool          { return false }
func (k EmbeddingGrad) InPlace() bool    { return k.Add }
func (LayerNorm) InPlace() bool          { return false }
func (k LayerNormGrad) InPlace() bool    { return k.Add }
func (Attention) InPlace() bool          { return false }
func (AttentionGrad) InPlace() bool      { return false }
func (CachedAttention) InPlace() bool    { return false }
func (Activation) InPlace() bool         { return true }
func (ActivationGrad) InPlace() bool     { return true }
func (Dropout) InPlace() bool            { return true }
func (KeepMask) InPlace() bool           { return false }
func (Softmax) InPlace() bool            { return true }
func (SoftmaxGrad) InPlace() bool        { return true }
func (CrossEntropy) InPlace() bool       { return false }
func (CrossEntropyGrad) InPlace() bool   { return true }
func (CrossEntropyBoth) InPlace() bool   { return true }
func (Add) InPlace() bool                { return true }
func (Copy) InPlace() bool               { return false }
func (Transpose) InPlace() bool          { return false }
func (SliceLast) InPlace() bool          { return false }
func (PadLast) InPlace() bool            { return false }
func (Expand) InPlace() bool             { return false }
func (Reduce) InPlace() bool             { return false }
func (RowMax) InPlace() bool             { return false }
func (OneHot) InPlace() bool             { return false }
func (Fill) InPlace() bool               { return true }
func (SumSquares) InPlace() bool         { return false }
func (AdamW) InPlace() bool              { return true }
