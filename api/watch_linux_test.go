package api_test

import (
	"syscall"
	"testing"
)

// watchFile answers a function that says whether the file was opened or read since it was asked last.
func watchFile(t *testing.T, path string) func() bool {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if _, err := syscall.InotifyAddWatch(fd, path, syscall.IN_OPEN|syscall.IN_ACCESS); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		var events [4096]byte
		n, err := syscall.Read(fd, events[:])
		return err == nil && n > 0
	}
}
