// Package generate writes text with a model: it encodes a prompt, draws one token after the other from
// the model's probabilities, and decodes them.
//
// options.go says how tokens are drawn and sampler.go draws them. decoder.go runs the model: it keeps the keys
// and values of the tokens so far, so that every new token costs one pass over the weights, and several texts
// share the pass. model.go loads a model; group.go, tokens.go and text.go are the loops over several texts, over
// tokens and over text.
//
// A text may be longer than the model's context. The model then sees the last tokens of it: at first the whole
// context, and whenever that is full, the last half of it and what follows until it is full again.
//
// Legend of shapes: B texts, V vocabulary.
package generate
