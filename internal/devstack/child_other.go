//go:build !linux

package devstack

import "syscall"

// childAttr gives the child a process group of its own. There is no parent-death signal here: only Stop and Kill end the child.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
