package storage_test

import (
	"testing"

	"telefuser/storage"
	"telefuser/storage/storagetest"
)

func openFile(t *testing.T, dir string) *storage.File {
	t.Helper()
	s, err := storage.NewFile(storage.FileConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFileDriverConforms(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storage.Store { return openFile(t, t.TempDir()) })
}
