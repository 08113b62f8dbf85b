package main

import (
	"strings"
	"testing"

	"tinylm/graph/gradcheck"
)

// A wrong gradient is an error, after the table.
func TestWriteReport(t *testing.T) {
	r := gradcheck.Report{H: 1e-5, Limit: 1e-7, Tensors: []gradcheck.Tensor{
		{Name: "right", Shape: []int{2}, Checked: 2, Error: 1e-9, Index: []int{0}, Numeric: 1, Analytic: 1},
	}}
	var table strings.Builder
	if err := writeReport(&table, r); err != nil {
		t.Error(err)
	}
	r.Tensors = append(r.Tensors, gradcheck.Tensor{Name: "wrong", Shape: []int{2}, Checked: 2, Error: 1e-3, Index: []int{1}, Numeric: 1, Analytic: 1.001})
	table.Reset()
	if err := writeReport(&table, r); err == nil || !strings.Contains(err.Error(), "wrong[1]") {
		t.Errorf("error %v, want one that names wrong[1]", err)
	}
	if !strings.Contains(table.String(), "WRONG") || !strings.Contains(table.String(), "1 of 2 tensors") {
		t.Errorf("the table is\n%s", table.String())
	}
}
