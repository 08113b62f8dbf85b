package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"tinylm/layers"
)

// checkMemory refuses, before anything is made, a model whose training needs more memory than is free.
// Where the free memory is not known it refuses nothing.
func checkMemory(c layers.Config, s settings) error {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil { // not Linux
		return nil
	}
	free, ok := availableMemory(info)
	if !ok {
		return nil
	}
	return fits(c, s.Batch.BatchSize, free)
}

// fits compares the least memory of training on batches of so many windows with what is free, in bytes.
func fits(c layers.Config, batch int, free int64) error {
	weights, step, err := c.LeastTrainMemory(batch)
	if err != nil {
		return err
	}
	if weights+step <= float64(free) {
		return nil
	}
	smaller := "--n-layer or --n-embd"
	if step > weights {
		smaller = "--batch-size or --block-size"
	}
	const gigabyte = 1e9
	return fmt.Errorf("this model needs %.1f GB or more, %.1f GB are free; use a smaller %s",
		(weights+step)/gigabyte, float64(free)/gigabyte, smaller)
}

// availableMemory reads the bytes that can be used without swapping from the text of /proc/meminfo.
func availableMemory(info []byte) (bytesFree int64, ok bool) {
	for line := range bytes.Lines(info) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "MemAvailable:" && string(f[2]) == "kB" {
			n, err := strconv.ParseInt(string(f[1]), 10, 64)
			return n * 1024, err == nil
		}
	}
	return 0, false
}
