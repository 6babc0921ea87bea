// Package cputime measures the processor time of one piece of work in this process, as the kernel counts it for the thread that does it. It knows nothing of what
// the work is.
package cputime
