// Package data turns a text into the batches a model is trained on: text, tokens, the split
// into training and validation parts, windows, batches. It knows no graph.
//
// Legend of shapes: B batch, T time (tokens in a window), V vocabulary.
package data
