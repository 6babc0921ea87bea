package bench_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"telefuser/internal/bench"
)

// The two benchmarks compare what a request costs with the connection of this package and with net/http's client, against the same server in the
// same process: the difference is the client's.

func answering(b *testing.B) string {
	b.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"video_00000000000000000000000000","object":"video","status":"queued","progress":0}`)
	}))
	b.Cleanup(s.Close)
	return s.URL
}

func BenchmarkPool(b *testing.B) {
	target := bench.Target{URL: answering(b)}
	pool, err := bench.NewPool(target, 8, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	source, err := bench.Gets(target, []string{"a"})
	if err != nil {
		b.Fatal(err)
	}
	// So fast that every request is due at once: the connections are always busy.
	plan := bench.Plan{Rate: 1e6, Duration: time.Duration(b.N) * time.Microsecond, DrainMax: time.Hour}
	b.ReportAllocs()
	b.ResetTimer()
	r, err := pool.Run(b.Context(), plan, source)
	if err != nil || !r.Clean() {
		b.Fatal(r.Errors, err)
	}
}

func BenchmarkNetHTTP(b *testing.B) {
	url := answering(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8, MaxConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	b.ReportAllocs()
	b.SetParallelism(4) // eight on two processors
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url+"/v1/videos/a", http.NoBody)
			if err != nil {
				b.Error(err)
				return
			}
			res, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		}
	})
}
