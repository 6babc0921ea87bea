//go:build !linux

package engine

import "syscall"

// processAttributes put the engine into a group of its own, so that it can be killed with its children and a terminal's Ctrl-C does not
// reach it. Where the kernel cannot kill it together with the supervisor, the end of its standard input tells it.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
