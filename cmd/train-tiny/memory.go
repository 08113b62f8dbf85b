package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"tinylm/layers"
)

// mostLayers take some ten seconds to build. The time grows with their square: Gorgonia looks for a node
// among all others.
const mostLayers = 1000

// checkSize refuses, before anything is made, a model whose training needs more memory than is free, where
// that is known, and one whose graph would take too long to build.
func checkSize(c layers.Config, s settings) error {
	if _, _, err := c.ParameterCount(); err != nil {
		return err
	}
	if info, err := os.ReadFile("/proc/meminfo"); err == nil { // on Linux
		if free, ok := availableMemory(info); ok {
			if err := fits(c, s.Batch.BatchSize, free); err != nil {
				return err
			}
		}
	}
	if c.Layers > mostLayers {
		return usagef("--n-layer must be at most %d, got %d: the graph of more takes too long to build", mostLayers, c.Layers)
	}
	return nil
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
	total, withoutPositions, err := c.ParameterCount()
	if err != nil {
		return err
	}
	smaller := "--batch-size or --block-size"
	if weights/float64(total)*float64(withoutPositions) > float64(free) {
		smaller = "--n-layer or --n-embd"
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
