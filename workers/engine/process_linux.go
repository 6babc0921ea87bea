package engine

import "syscall"

// processAttributes put the engine into a group of its own, so that it can be killed with its children and a terminal's Ctrl-C does not
// reach it, and have the kernel kill it when the supervisor dies.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
