// Package graph holds tinylm's operators for Gorgonia expression graphs: attention, layer norm, linear
// maps, embeddings, losses and the few shape operators they need.
//
// Every builder takes and returns *gorgonia.Node, so they mix with Gorgonia's own. Each file holds one
// operator: its shape rule, the kernel it runs and its gradient rule. The results can be run by
// graph/machine or by gorgonia.NewTapeMachine.
//
// Legend of the shape comments: B batch, T time (positions), C channels, H heads, D head width,
// V vocabulary, N rows (all leading axes together).
package graph
