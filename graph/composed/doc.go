// Package composed spells the operators of package graph out in primitive nodes: Gorgonia's elementwise
// operators, and of ours matrix products, reshapes, transposes, slices, repetitions, sums over axes,
// maxima of rows, one-hot rows, fills and the factors of dropout. No node runs a fused kernel.
//
// It is the definition one can read and draw, the oracle that the fused operators are tested against,
// and the way to look at attention weights. It is slow, and keeps every intermediate tensor.
//
// Builders have the signatures of package graph and give the same values and gradients, with two
// differences: attention also returns its weights, and an id outside its table is no error, but a row of
// zeros (Embedding) or a target that does not count (CrossEntropy).
package composed
