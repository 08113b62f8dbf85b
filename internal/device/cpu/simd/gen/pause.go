package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
)

// pauses writes Pause of pause.go.
func pauses(c *build.Context) {
	c.Function("Pause")
	c.Attributes(attr.NOSPLIT)
	c.SignatureExpr("func()")
	c.Doc("Pause lets the processor wait a moment, for loops that watch a variable.")
	c.PAUSE()
	c.RET()
}
