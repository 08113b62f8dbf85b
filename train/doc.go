// Package train trains a GPT: batches in, gradients by a graph's machine, AdamW over the flat
// parameters, evaluation, and the loop that ties them to a run directory.
//
// A Trainer (trainer.go) makes single steps and knows no files; Loop (loop.go) runs it to its limits,
// records metrics, evaluates, writes samples and saves checkpoints.
package train
