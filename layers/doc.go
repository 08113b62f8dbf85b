// Package layers builds transformers on Gorgonia expression graphs: linear maps, embeddings, layer norms,
// attention, feed-forward layers, blocks and a GPT.
//
// The weights of a model are [Parameters], one contiguous arena. A layer's constructor declares its
// parameters there; its Forward method adds nodes to a graph through a [Scope], which says for what the
// graph is: training (with dropout) or not, of fused operators or composed of primitive ones. One model is
// built into as many graphs as needed, all over the same arena.
//
// Legend of the shape comments: B batch, T time (positions), C channels (width), H heads, D head width,
// V vocabulary, I inner width of the feed-forward layer.
package layers
