//go:build !linux

package faults_test

import "syscall"

// childAttr gives the child a process group of its own. There is no parent-death signal here.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
