package bench_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"telefuser/internal/bench"
)

func TestCountersAreSummedOverTheirLabels(t *testing.T) {
	page := "# HELP a_total A.\n# TYPE a_total counter\na_total{stage=\"x y\"} 1.5\na_total{stage=\"z\"} 2\nb_total 7\na_total_more 100\nc{a=\"}\"} 1e3\n"
	target, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			fmt.Fprint(w, page)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
	got, err := bench.ReadCounters(t.Context(), target, "a_total", "b_total", "c", "absent")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got["a_total"] != 3.5 || got["b_total"] != 7 || got["c"] != 1000 {
		t.Errorf("counters %v", got)
	}
	for _, bad := range []string{"a_total{x=\"y\"}\n", "a_total one\n"} {
		page = bad
		if _, err := bench.ReadCounters(t.Context(), target, "a_total"); !errors.Is(err, bench.ErrTarget) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	target.URL += "/elsewhere"
	if _, err := bench.ReadCounters(t.Context(), target, "a_total"); !errors.Is(err, bench.ErrTarget) {
		t.Errorf("a server without metrics: %v", err)
	}
}
