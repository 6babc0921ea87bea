// Package simd holds the inner loops of the kernels.CPU backend: sums of products over packed
// panels, and functions over rows of float32. Each loop exists in plain Go and, for amd64, in
// assembly; a Level picks. The caller cuts work into tiles and rows, owns all memory and knows
// the tensors; this package knows neither tensors nor operations, and starts no goroutine.
package simd
