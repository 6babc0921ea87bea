package api_test

import (
	"context"
	"encoding/base64"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"telefuser/api"
	"telefuser/storage"
)

// TestLargeTextHoldsMemoryUntilItIsClosed asks for the memory for bodies when a body has more text than other fields may have, and not otherwise.
func TestLargeTextHoldsMemoryUntilItIsClosed(t *testing.T) {
	form := func(text string) string {
		return "--x\r\nContent-Disposition: form-data; name=\"input_reference[image_url]\"\r\n\r\n" + text + "\r\n--x--\r\n"
	}
	large := strings.Repeat("A", 3<<20)
	for name, c := range map[string]struct {
		contentType, body string
		want              bool
	}{
		"large JSON": {"application/json", `{"input_reference":"` + large + `"}`, true},
		"small JSON": {"application/json", `{"input_reference":"AAAA"}`, false},
		"large form": {"multipart/form-data; boundary=x", form(large), true},
		"small form": {"multipart/form-data; boundary=x", form("AAAA"), false},
		"bad JSON":   {"application/json", `{"input_reference":"` + large, false},
		"bad form":   {"multipart/form-data; boundary=x", form(large + "\xff"), false},
	} {
		open, closed := api.HoldsMemory(c.contentType, strings.NewReader(c.body))
		if open != c.want || closed {
			t.Errorf("%s: memory is held while open: %v, want %v; when closed: %v", name, open, c.want, closed)
		}
	}
}

// slowStore lets two puts meet.
type slowStore struct {
	api.Store
	meet chan struct{}
}

func (s slowStore) Put(ctx context.Context, key string, r io.Reader, o storage.PutOptions) (storage.Object, error) {
	select {
	case s.meet <- struct{}{}:
	case <-s.meet:
	case <-time.After(waitMax):
		return storage.Object{}, storage.ErrUnavailable
	}
	return s.Store.Put(ctx, key, r, o)
}

// TestASlowStoreHoldsNoMemoryForBodies has room for one large text, and two of them in the store.
func TestASlowStoreHoldsNoMemoryForBodies(t *testing.T) {
	png := testPNG(t, 64, 64)
	slow := &slowStore{meet: make(chan struct{})}
	s := newStack(t, func(in *setup) {
		in.api.BodyMemoryBytesMax, in.deps.Store = 28<<20, slow
		in.deps.DecodeImage = func(_ context.Context, r io.Reader) (api.Picture, error) {
			_, err := io.Copy(io.Discard, r)
			return api.Picture{Width: 64, Height: 64, PNG: png}, err
		}
	})
	slow.Store = s.store
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(append(png, make([]byte, 11<<20)...))
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			s.postForm(t, "/v1/videos", field("prompt", "a"), field("model", "terrain"), field("size", "64x64"), field("input_reference[image_url]", url)).object(t, 200)
		})
	}
	all.Wait()
	s.noTempFiles(t)
}
