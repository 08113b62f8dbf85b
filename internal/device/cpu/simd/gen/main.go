// Command gen writes the assembly of package simd: each family of kernels as NAME_amd64.s and
// NAME_arm64.s with their Go declarations beside them, into the directory given. Run it with make asm.
package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// families lists what is written: a family's kernels for both instruction sets of amd64, and for arm64.
var families = []struct {
	name  string
	amd64 func(c *build.Context)
	arm64 func(a *arm) // nil where plain Go does
}{
	{"peak", peaks, neonPeaks},
	{"tile", tiles, neonTiles},
	{"pack", packs, neonPacks},
	{"gemv", gemvs, neonGemvs},
	{"pause", pauses, nil},
	{"softmax", vectors(softmaxes), neonVectors(softmaxes)},
	{"activation", vectors(activations), neonVectors(activations)},
	{"dropout", vectors(dropouts), neonVectors(dropouts)},
	{"norm", vectors(norms), neonVectors(norms)},
	{"sums", vectors(additions), neonVectors(additions)},
	{"optimizer", vectors(optimizers), neonVectors(optimizers)},
	{"strip", vectors(scores), neonVectors(scores)},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen DIRECTORY")
		os.Exit(2)
	}
	for _, f := range families {
		base := filepath.Join(os.Args[1], f.name)
		err := write(base+"_amd64", f.amd64)
		if err == nil && f.arm64 != nil {
			err = writeNEON(base+"_arm64", f.arm64)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "gen: %s: %v\n", f.name, err)
			os.Exit(1)
		}
	}
}

// write compiles the functions that family adds to a context, and prints them to base.s and base.go.
func write(base string, family func(c *build.Context)) error {
	c := build.NewContext()
	family(c)
	f, err := c.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return err
	}
	config := printer.Config{Name: "gen", Argv: []string{"make", "asm"}, Pkg: "simd"}
	text, err := printer.NewGoAsm(config).Print(f)
	if err != nil {
		return err
	}
	if err := os.WriteFile(base+".s", text, 0o644); err != nil {
		return err
	}
	if text, err = printer.NewStubs(config).Print(f); err != nil {
		return err
	}
	if text, err = format.Source(text); err != nil {
		return err
	}
	return os.WriteFile(base+".go", text, 0o644)
}
