package bench_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"telefuser/internal/bench"
	"telefuser/internal/devstack"
)

func TestBacklogGrowsAsPlanned(t *testing.T) {
	redis, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{})
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip("redis-server is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Stop()
	var posts, lists atomic.Int64
	target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			fmt.Fprintf(w, `{"id":"video_%d"}`, posts.Add(1))
		case r.URL.Path == "/v1/videos":
			lists.Add(1)
		case !strings.HasPrefix(r.URL.Path, "/v1/videos/video_"):
			w.WriteHeader(http.StatusNotFound)
		}
	})
	result, err := bench.Backlog(t.Context(), bench.BacklogPlan{
		Target: target, Body: []byte(`{}`), RedisAddr: redis.Addr, Few: 10, Queued: 300, Stored: 400,
		PostRate: 1000, GetRate: 1000, ListRate: 1000, Duration: 50 * time.Millisecond, Warmup: 20 * time.Millisecond, Connections: 4,
	})
	if err != nil {
		t.Fatal(err)
	}
	// 10, then 70 by the first measurement; up to 300, then 70 by the second; up to 400.
	if posts.Load() != 400 || lists.Load() != 140 {
		t.Errorf("%d creates and %d list pages, want 400 and 140", posts.Load(), lists.Load())
	}
	want := []string{"get, 10 stored", "post, 10 stored", "post, 300 stored", "list of 20, 370 stored", "list of 100, 370 stored", "get, 400 stored"}
	for i, run := range result.Runs {
		if i >= len(want) || run.Name != want[i] || run.Result.Total.Requests != 50 || !run.Result.Clean() {
			t.Errorf("run %d is %q: %+v %v", i, run.Name, run.Result.Total, run.Result.Errors)
		}
	}
	if len(result.Runs) != len(want) {
		t.Errorf("%d runs, want %d", len(result.Runs), len(want))
	}
}
