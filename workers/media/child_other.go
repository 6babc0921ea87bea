//go:build !linux

package media

import "syscall"

// childAttr gives the child a process group of its own. There is no parent-death signal here: a closed pipe ends the child.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
