// Package gradcheck compares the gradients of a graph with central differences, in float64:
//
//	df/dx ≈ (f(x+h) - f(x-h)) / 2h
//
// The error of a tensor is max|difference - gradient| / max(1e-3, max|gradient|) over its entries. A
// right rule stays near 1e-9; the limit, 1e-7, is far below any wrong factor.
//
// A graph checked must be smooth near its values (keep the inputs of ReLU away from 0) and give the same
// loss for the same values (fix the random state of dropout).
package gradcheck
