// Package kerneltest holds every backend of package kernels to the same promises: results
// within stated bounds of the reference, every element of an output written and nothing
// beside it, the same bits on every run, and refusal of shapes that do not fit.
package kerneltest
