package cpu

import "slices"

// view walks through memory in the row-major order of its axes: axis a has size[a] elements that lie
// stride[a] apart; a stride of 0 repeats an element.
type view struct{ size, stride []int }

// rowMajorStrides returns the strides of a contiguous tensor.
func rowMajorStrides(shape []int) []int {
	strides := make([]int, len(shape))
	n := 1
	for a := len(shape) - 1; a >= 0; a-- {
		strides[a] = n
		n *= shape[a]
	}
	return strides
}

// repeated returns the view of a small tensor, repeated over a large one along its axes of length 1 and those
// it lacks; the axes are aligned at the last. See repeats.
func repeated(small, large []int) view {
	var v view
	strides := rowMajorStrides(small)
	missing := len(large) - len(small)
	for a, n := range large {
		if a < missing || small[a-missing] == 1 {
			v.add(n, 0)
		} else {
			v.add(n, strides[a-missing])
		}
	}
	return v
}

// repeats tells whether large is small with axes of length 1 repeated; both have the same rank.
func repeats(small, large []int) bool {
	return slices.EqualFunc(small, large, func(s, l int) bool { return s == 1 || s == l })
}

// add appends an axis, or lengthens the last one where both together step evenly.
func (v *view) add(size, stride int) {
	last := len(v.size) - 1
	switch {
	case size == 1:
	case last >= 0 && v.stride[last] == size*stride:
		v.size[last] *= size
		v.stride[last] = stride
	default:
		v.size = append(v.size, size)
		v.stride = append(v.stride, stride)
	}
}

// cut returns the view without its last axis, and that axis; a view without axes has one of one element.
func (v view) cut() (outer view, size, stride int) {
	last := len(v.size) - 1
	if last < 0 {
		return v, 1, 1
	}
	return view{v.size[:last], v.stride[:last]}, v.size[last], v.stride[last]
}

// len returns the number of elements.
func (v view) len() int { return product(v.size) }

// offset returns where element i lies.
func (v view) offset(i int) int {
	at := 0
	for a := len(v.size) - 1; a > 0; a-- {
		at += i % v.size[a] * v.stride[a]
		i /= v.size[a]
	}
	if len(v.size) > 0 {
		at += i * v.stride[0]
	}
	return at
}
