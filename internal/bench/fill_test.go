package bench_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"telefuser/internal/bench"
)

func TestFillAnswersEveryID(t *testing.T) {
	var made atomic.Int64
	target, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"id":"video_%d"}`, made.Add(1)) })
	ids, err := newPool(t, target, 4, 0).Fill(t.Context(), target, []byte(`{}`), 103)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	if n := len(slices.Compact(ids)); n != 103 || made.Load() != 103 {
		t.Errorf("%d ids of %d videos, want 103", n, made.Load())
	}
}

func TestFillEndsAtTheFirstRefusal(t *testing.T) {
	target, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	if _, err := newPool(t, target, 4, 0).Fill(t.Context(), target, []byte(`{}`), 1000); !errors.Is(err, bench.ErrTarget) {
		t.Errorf("%v, want ErrTarget", err)
	}
}
