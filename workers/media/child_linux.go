package media

import "syscall"

// childAttr makes the kernel kill the child when the thread that started it ends, which the starter keeps for the child's whole life. A process
// group of its own keeps a terminal's ^C away from an encoder whose frames are still to be stored.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
