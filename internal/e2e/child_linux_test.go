package e2e_test

import "syscall"

// childAttr makes the kernel kill a child when the thread that started it ends. A process group of its own keeps a terminal's ^C away from it.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
