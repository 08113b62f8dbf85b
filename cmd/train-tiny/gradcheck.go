package main

import (
	"fmt"
	"io"

	"tinylm/graph/gradcheck"
	"tinylm/internal/checks"
)

// gradcheckCmd compares gradients with finite differences.
type gradcheckCmd struct{}

// Run is called by the parser.
func (gradcheckCmd) Run(s *streams) error {
	var all gradcheck.Report
	for _, c := range checks.All() {
		r, err := c.Run()
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		for i := range r.Tensors {
			r.Tensors[i].Name = c.Name + ": " + r.Tensors[i].Name
		}
		all.H, all.Limit = r.H, r.Limit
		all.Tensors = append(all.Tensors, r.Tensors...)
	}
	return writeReport(s.out, all)
}

// writeReport writes the table; a gradient that is wrong is an error.
func writeReport(w io.Writer, r gradcheck.Report) error {
	if _, err := r.WriteTo(w); err != nil {
		return err
	}
	return r.Err()
}
