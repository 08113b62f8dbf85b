// Package generate writes text with a model: it encodes a prompt, draws one token after the other from
// the model's probabilities, and decodes them.
//
// options.go says how tokens are drawn and sampler.go draws them; model.go loads a model, logits.go runs
// it, tokens.go and text.go are the loops over tokens and over text. Every new token costs a pass over the
// whole text so far, at most the model's context.
//
// Legend of shapes: T time (tokens), V vocabulary.
package generate
