package data

// IgnoreIndex is the target of a position that is not counted.
const IgnoreIndex = -100

// Batch is B windows of T tokens, row by row: element (b, t) is at index b*T+t. Targets[i] is the
// token that follows Inputs[i] in the text, or IgnoreIndex. The zero value is ready to be filled.
type Batch struct {
	B, T            int
	Inputs, Targets []int32 // (B, T)
}

// resize makes room for (batch, block); it allocates only to grow.
func (b *Batch) resize(batch, block int) {
	n := batch * block
	if cap(b.Inputs) < n || cap(b.Targets) < n {
		b.Inputs, b.Targets = make([]int32, n), make([]int32, n)
	}
	b.B, b.T = batch, block
	b.Inputs, b.Targets = b.Inputs[:n], b.Targets[:n]
}

// row returns the inputs and targets of window i, (T).
func (b *Batch) row(i int) (inputs, targets []int32) {
	return b.Inputs[i*b.T : (i+1)*b.T], b.Targets[i*b.T : (i+1)*b.T]
}
