//go:build !linux

package e2e_test

import "syscall"

// childAttr gives a child a process group of its own. There is no parent-death signal here: only the end of its test ends it.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
