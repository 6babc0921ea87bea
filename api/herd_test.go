package api_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestAHerdOfCreates sends 2,000 creates of a limited key at once: each is taken, or refused with the time to come again, and a key beside it is served meanwhile.
// How long all of it takes is measured by `telefuser bench overload`.
func TestAHerdOfCreates(t *testing.T) {
	const herd, takes = 2000, 700
	s := newStack(t, withKeys)
	key := s.limited(t, "alice", map[string]int64{"queued": takes})
	other := s.key(t, "bob")
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 400, MaxIdleConnsPerHost: 400}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	answers := map[int]int{}
	var all sync.WaitGroup
	for range herd {
		all.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/v1/videos", strings.NewReader(`{"prompt":"a"}`))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", key)
			res, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			_, _ = io.Copy(io.Discard, res.Body)
			if wait, err := strconv.Atoi(res.Header.Get("Retry-After")); res.StatusCode != 200 && (err != nil || wait < 1 || wait > 60) {
				t.Errorf("a %d with retry-after %q", res.StatusCode, res.Header.Get("Retry-After"))
			}
			mu.Lock()
			defer mu.Unlock()
			answers[res.StatusCode]++
		})
	}
	id := s.postJSON(t, "/v1/videos", `{"prompt":"a"}`, "Authorization", other).object(t, 200)["id"].(string)
	s.request(t, "GET", "/v1/videos/"+id, nil, "Authorization", other).object(t, 200)
	all.Wait()
	if answers[200] != takes || answers[200]+answers[429]+answers[503] != herd {
		t.Errorf("answers: %v, want %d taken and the rest refused", answers, takes)
	}
	total, err := s.jobs.Totals(t.Context())
	if err != nil || total.Created != takes+1 {
		t.Errorf("%+v, %v: what was refused left something", total, err)
	}
}
