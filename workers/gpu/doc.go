// Package gpu drives NVIDIA GPUs from plain Go: it opens the CUDA driver when the
// program starts, never at link time, so the same binary runs on a machine with no
// NVIDIA software and says so with ErrNoDriver.
//
// A Device owns one locked OS thread. Every driver call is made on it, inside
// Device.Do; values handed out there (Stream, Event, Module, Graph, memory) may be
// kept, but used only inside a later Do of the same device or group.
//
// Errors are *Error, with the driver's call and code; errors.Is tells the classes
// ErrOutOfMemory, ErrInvalid and ErrDeviceLost apart. After a lost device nothing more
// runs on it in this process: the process has to end.
//
// A fact that the machine does not tell (in containers, NVML often answers "unknown")
// is nil, never zero.
//
// The package knows no models, no kernels but its own health probe, no jobs and no
// network.
package gpu
