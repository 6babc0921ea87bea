package storage_test

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"telefuser/storage"
)

func TestFileDriverSaysThatTheDiskIsFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := openFile(t, dir)
	_, err := s.Put(t.Context(), "big", bytes.NewReader(make([]byte, 1<<20)), storage.PutOptions{SizeBytes: -1})
	if !errors.Is(err, storage.ErrFull) {
		t.Errorf("got %v", err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
	if _, err := s.Put(t.Context(), "small", bytes.NewReader(make([]byte, 100)), storage.PutOptions{SizeBytes: -1}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
