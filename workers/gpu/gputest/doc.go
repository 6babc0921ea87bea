// Package gputest makes up a machine with GPUs where there is none: a CUDA driver and an NVML in a folder, which a program takes for
// NVIDIA's when the folder is on its library path. Device memory is the host's, faults are planted by files, and the few kernels that tests
// need are computed; it is no emulator.
//
// It needs a C compiler and is for tests alone.
package gputest
