package gpu

import "syscall"

// threadID is the calling OS thread.
func threadID() int { return syscall.Gettid() }
