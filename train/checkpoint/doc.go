// Package checkpoint keeps a training run on disk and brings it back.
//
// A run directory looks like this; files marked * belong to the packages above:
//
//	runs/NAME/
//	    config.json *  metrics.jsonl *  samples/ *
//	    checkpoints/
//	        latest  best                  text files, each with the name of a checkpoint
//	        step-000500/                  one checkpoint
//
// A checkpoint is a Hugging Face GPT-2 model directory (config.json, model.safetensors, the
// tokenizer's files, generation_config.json) plus what training needs to go on to the bit:
// training.safetensors (the optimizer's moments) and training.json ([State]). Its manifest.json
// holds the size and the SHA-256 of every other file.
//
// Saving writes a hidden directory beside the others, syncs each file and the directory, renames it
// into place, and only then moves latest and best. Loading checks every file it reads against the
// manifest, so a checkpoint is loaded whole or not at all; when the newest one is damaged, the one
// before is loaded and the caller gets a notice to print. Files are treated as hostile: what is
// wrong with one is reported as a [*FormatError], and nothing is allocated because a header says so.
//
// Only files of our own are ever removed: checkpoints beyond [Run.Keep], and what an interrupted
// save left behind.
package checkpoint
