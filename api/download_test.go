package api_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"telefuser/api"
	"telefuser/storage"
)

// watchedStore notes what is opened, and may end too early.
type watchedStore struct {
	api.Store
	mu     sync.Mutex
	opened []string
	cut    bool
}

func (w *watchedStore) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, storage.Object, error) {
	body, object, err := w.Store.Open(ctx, key, offset, length)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened = append(w.opened, fmt.Sprintf("%d+%d", offset, length))
	if w.cut && err == nil {
		body = shortBody{io.LimitReader(body, 10), body}
	}
	return body, object, err
}

func (w *watchedStore) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.opened = nil }()
	return w.opened
}

type shortBody struct {
	io.Reader
	io.Closer
}

// TestTheStoreIsAskedForWhatIsWanted and no more: once for the usual request, and not at all for headers alone.
func TestTheStoreIsAskedForWhatIsWanted(t *testing.T) {
	watched := &watchedStore{}
	s := newStack(t, func(in *setup) { in.deps.Store = watched })
	watched.Store = s.store
	s.work(t, finisher{})
	path := "/v1/videos/" + s.completed(t, map[string]any{"model": "terrain"})["id"].(string) + "/content"
	size := len(tinyClip(t))
	etag := s.request(t, "HEAD", path, nil).header.Get("ETag")
	watched.take()
	for _, c := range []struct {
		method, header, value, want string
	}{
		{"GET", "X-None", "", fmt.Sprintf("[0+%d]", size)},
		{"GET", "Range", "bytes=10-19", "[10+10]"},
		{"GET", "Range", "bytes=0-0", "[0+1]"},
		{"GET", "Range", "bytes=100-", fmt.Sprintf("[100+%d]", size-100)},
		{"GET", "Range", "bytes=-5", fmt.Sprintf("[%d+5]", size-5)},
		{"HEAD", "X-None", "", "[]"},
		{"GET", "Range", "bytes=99999999-", "[]"},
	} {
		s.request(t, c.method, path, nil, c.header, c.value)
		if opened := fmt.Sprint(watched.take()); opened != c.want {
			t.Errorf("%s with %s %s: opened %s, want %s", c.method, c.header, c.value, opened, c.want)
		}
	}
	if r := s.request(t, "GET", path, nil, "If-None-Match", etag); r.status != http.StatusNotModified {
		t.Errorf("status %d", r.status)
	}
}

// TestACutStoreBreaksTheTransfer so that no client takes half a file for a whole one.
func TestACutStoreBreaksTheTransfer(t *testing.T) {
	watched := &watchedStore{}
	s := newStack(t, func(in *setup) { in.deps.Store = watched })
	watched.Store = s.store
	s.work(t, finisher{})
	id := s.completed(t, map[string]any{"model": "terrain"})["id"].(string)
	watched.mu.Lock()
	watched.cut = true
	watched.mu.Unlock()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/videos/"+id+"/content", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if data, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("a transfer of %d bytes looks whole", len(data))
	}
}
