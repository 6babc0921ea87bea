package storage_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"telefuser/storage"
)

// TestFileListsWhileFoldersGo lists without an end while folders come and go: what is gone is not listed, and is no error either.
func TestFileListsWhileFoldersGo(t *testing.T) {
	t.Parallel()
	s, err := storage.NewFile(storage.FileConfig{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var listing sync.WaitGroup
	for range 2 {
		listing.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.List(t.Context(), "", "", storage.ListLimitMax); err != nil {
					t.Errorf("list: %v", err)
					return
				}
			}
		})
	}
	for i := range 200 {
		key := fmt.Sprintf("a/%d/b/c", i%3)
		if _, err := s.Put(t.Context(), key, strings.NewReader("x"), storage.PutOptions{SizeBytes: 1}); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	listing.Wait()
}
