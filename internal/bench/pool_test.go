package bench_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"telefuser/internal/bench"
)

// serve runs a server and answers it as a target, with the number of connections that it has seen.
func serve(t *testing.T, h http.HandlerFunc) (bench.Target, *atomic.Int64) {
	t.Helper()
	var connections atomic.Int64
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return bench.Target{URL: s.URL}, &connections
}

func newPool(t *testing.T, target bench.Target, connections int, timeout time.Duration) *bench.Pool {
	t.Helper()
	pool, err := bench.NewPool(target, connections, timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func gets(t *testing.T, target bench.Target, ids ...string) bench.Source {
	t.Helper()
	source, err := bench.Gets(target, ids)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func run(t *testing.T, pool *bench.Pool, plan bench.Plan, source bench.Source) bench.Result {
	t.Helper()
	r, err := pool.Run(t.Context(), plan, source)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRunKeepsToTheSchedule(t *testing.T) {
	var mu sync.Mutex
	var arrived []time.Duration
	start := time.Now()
	target, connections := serve(t, func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		arrived = append(arrived, time.Since(start))
	})
	plan := bench.Plan{Rate: 500, Duration: 400 * time.Millisecond}
	r := run(t, newPool(t, target, 8, 0), plan, gets(t, target, "a"))

	if len(arrived) != 200 || r.Total.Requests != 200 || !r.Clean() {
		t.Fatalf("%d requests arrived, the result says %+v, want 200", len(arrived), r.Total)
	}
	slices.Sort(arrived)
	for i, at := range arrived {
		if at < plan.Intended(i) {
			t.Fatalf("request %d arrived at %s, before its time %s", i, at, plan.Intended(i))
		}
	}
	if n := connections.Load(); n > 8 {
		t.Errorf("%d connections for a pool of 8", n)
	}
	if r.RateAchieved > 500.001 || r.RateTarget != 500 {
		t.Errorf("rate %g of %g", r.RateAchieved, r.RateTarget)
	}
}

// A server that stops for half a second is charged for everybody who came meanwhile.
func TestStallIsChargedToAllWhoWaited(t *testing.T) {
	const stall = 500 * time.Millisecond
	var served atomic.Int64
	target, _ := serve(t, func(http.ResponseWriter, *http.Request) {
		if served.Add(1) == 1 {
			<-time.After(stall)
		}
	})
	r := run(t, newPool(t, target, 1, 0), bench.Plan{Rate: 200, Duration: time.Second}, gets(t, target, "a"))

	// Requests 0 to 99 are meant for the stall, so the slowest 20 of 200 wait at least from request 20's moment to its end.
	p90 := r.Total.ResponseMS.P90
	if p90 == nil || *p90 < 390 {
		t.Errorf("response p90 is %v, want at least 390 ms", p90)
	}
	if service := r.Total.ServiceMS.P90; service == nil || *service >= *p90/2 {
		t.Errorf("service p90 is %v: only one request was slow to be served", service)
	}
	// That is no fault of the client.
	if late := r.LatenessMS.P90; late == nil || *late >= *p90/2 {
		t.Errorf("lateness p90 is %v: the client was held up by the server", late)
	}
}

func TestFailuresStayInTheDenominator(t *testing.T) {
	var served atomic.Int64
	target, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1)%10 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	r := run(t, newPool(t, target, 4, 0), bench.Plan{Rate: 2000, Duration: 200 * time.Millisecond}, gets(t, target, "a"))
	if r.Total.Requests != 400 || r.Total.Failed != 40 || r.Errors["http_503"] != 40 || r.Clean() {
		t.Errorf("%+v with errors %v, want 40 of 400 as http_503", r.Total, r.Errors)
	}
	if r.Total.ResponseMS.P50 == nil || r.Total.ResponseMS.P99 != nil || r.Total.ResponseMS.Max != nil {
		t.Errorf("quantiles %+v, want a p50 and neither p99 nor max", r.Total.ResponseMS)
	}
}

func TestBrokenConnectionsHaveClasses(t *testing.T) {
	silent, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	rude, _ := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	tests := map[string]bench.Target{"timeout": silent, "closed": rude, "refused": {URL: gone.URL}}
	for class, target := range tests {
		t.Run(class, func(t *testing.T) {
			r := run(t, newPool(t, target, 4, 50*time.Millisecond), bench.Plan{Rate: 100, Duration: 100 * time.Millisecond}, gets(t, target, "a"))
			if r.Errors[class] != 10 || r.Total.Failed != 10 {
				t.Errorf("errors %v, %d failed, want 10 of %s", r.Errors, r.Total.Failed, class)
			}
		})
	}
}

func TestWhatIsNeverSentIsDropped(t *testing.T) {
	target, _ := serve(t, func(http.ResponseWriter, *http.Request) { <-time.After(400 * time.Millisecond) })
	plan := bench.Plan{Rate: 100, Duration: 200 * time.Millisecond, DrainMax: time.Millisecond}
	r := run(t, newPool(t, target, 1, 0), plan, gets(t, target, "a"))
	if r.Total.Requests != 20 || r.Total.Dropped != 19 || r.Clean() {
		t.Errorf("%+v, want 19 of 20 dropped", r.Total)
	}
}

func TestAnswersOfEveryFraming(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	tests := map[string]http.HandlerFunc{
		"empty": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"short": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") },
		"chunked": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, long)
			w.(http.Flusher).Flush()
			fmt.Fprint(w, long)
		},
	}
	for name, h := range tests {
		t.Run(name, func(t *testing.T) {
			target, connections := serve(t, h)
			r := run(t, newPool(t, target, 2, 0), bench.Plan{Rate: 200, Duration: 100 * time.Millisecond}, gets(t, target, "a"))
			if !r.Clean() || connections.Load() > 2 {
				t.Errorf("%+v, errors %v over %d connections, want 20 clean ones over 2", r.Total, r.Errors, connections.Load())
			}
		})
	}
}

func TestServerMayCloseBetweenRequests(t *testing.T) {
	target, connections := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	r := run(t, newPool(t, target, 2, 0), bench.Plan{Rate: 200, Duration: 100 * time.Millisecond}, gets(t, target, "a"))
	if !r.Clean() || connections.Load() != 20 {
		t.Errorf("%+v, errors %v over %d connections, want 20 clean ones over 20", r.Total, r.Errors, connections.Load())
	}
}

func TestMixKeepsItsWeights(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	target, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("limit")]++
	})
	target.Key = "secret"
	posts, err := bench.Posts(target, []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	lists, err := bench.Lists(target, 20, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	mix, err := bench.Mix(bench.Share{Source: posts, Weight: 1}, bench.Share{Source: gets(t, target, "a"), Weight: 8}, bench.Share{Source: lists, Weight: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, newPool(t, target, 4, 0), bench.Plan{Rate: 2000, Duration: 100 * time.Millisecond}, mix)
	want := map[string]int{"POST /v1/videos ": 20, "GET /v1/videos/a ": 160, "GET /v1/videos 20": 20}
	for request, n := range want {
		if seen[request] != n {
			t.Errorf("%d of %q, want %d; seen %v", seen[request], request, n, seen)
		}
	}
	for kind, n := range map[string]int{bench.KindPost: 20, bench.KindGet: 160, bench.KindList: 20} {
		if got := r.Kinds[kind].Requests; got != n {
			t.Errorf("the result has %d of %s, want %d", got, kind, n)
		}
	}
}

func TestRequestsCarryBodyAndKey(t *testing.T) {
	type got struct{ auth, contentType, body string }
	seen := make(chan got, 1) // one: the plan has one request
	target, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body := make([]byte, 100)
		n, _ := r.Body.Read(body)
		seen <- got{r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body[:n])}
	})
	target.Key = "secret"
	posts, err := bench.Posts(target, []byte(`{"prompt":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	run(t, newPool(t, target, 1, 0), bench.Plan{Rate: 10, Duration: 100 * time.Millisecond}, posts)
	if g, want := <-seen, (got{"Bearer secret", "application/json", `{"prompt":"a"}`}); g != want {
		t.Errorf("the server saw %+v, want %+v", g, want)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	target, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	pool := newPool(t, target, 2, time.Hour)
	source := gets(t, target, "a")
	ended := make(chan error, 1) // one: the result, should it come too late
	go func() {
		_, err := pool.Run(ctx, bench.Plan{Rate: 10, Duration: time.Hour}, source)
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want context.Canceled", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the run goes on after its context ended")
	}
}

func TestTargetMustBePlainHTTP(t *testing.T) {
	for _, url := range []string{"https://a", "127.0.0.1:80", "http://", "://"} {
		if _, err := bench.NewPool(bench.Target{URL: url}, 1, 0); !errors.Is(err, bench.ErrTarget) {
			t.Errorf("%q: %v, want ErrTarget", url, err)
		}
	}
}
