// Command kernelbuild writes what is built from the kernels' sources: the wgmma wrappers,
// and with NVIDIA's run-time compiler (no GPU needed) the machine code and PTX under
// workers/kernels/built and workers/models/terrain/built, with the hash of the source that each came from.
//
//	go run ./internal/kernelbuild [-nvrtc /path/libnvrtc.so.13] [unit ...]
//
// Without units it builds all. It fails if the compiler warns that it had to serialize a
// kernel's matrix instructions.
package main
