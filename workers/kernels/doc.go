// Package kernels holds the operations that native models are made of. Each operation is a
// plain value, such as LayerNorm, that names its tensors and checks their shapes; a Backend
// runs it. Reference computes in plain Go with float64 accumulation, on the host's memory;
// CUDA queues a kernel on one GPU's stream. The two give the same result within the bounds
// that package kerneltest states and checks.
//
// An operation's file says what it computes and over which shapes; the .cu file beside it
// holds the kernel, and the machine code under built/ comes from exactly that source (see
// docs/kernels.md). The package knows no model, no job and no file format.
package kernels
