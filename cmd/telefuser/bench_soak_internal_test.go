package main

import (
	"errors"
	"strings"
	"testing"

	"telefuser/internal/bench"
)

// soaked is a window with one kind of request.
func soaked(p99 float64, failed int, rss int64) soakWindow {
	return soakWindow{Kinds: map[string]bench.KindResult{bench.KindGet: {Requests: 1000, Failed: failed, ResponseMS: bench.Quantiles{P99: &p99}}}, APIRSSBytes: rss}
}

// TestASoakIsJudged holds each promise at its bound.
func TestASoakIsJudged(t *testing.T) {
	done := func(windows ...soakWindow) soakReport {
		return soakReport{Windows: windows, Created: 10, Completed: 10}
	}
	lost := done(soaked(10, 0, 100), soaked(10, 0, 100))
	lost.Completed, lost.Open = 9, 1
	for name, row := range map[string]struct {
		report soakReport
		word   string
	}{
		"even":                    {done(soaked(10, 0, 100), soaked(15, 0, 120)), ""},
		"slower":                  {done(soaked(10, 0, 100), soaked(15.1, 0, 100)), "p99"},
		"slower, but still quick": {done(soaked(1, 0, 100), soaked(5, 0, 100)), ""},
		"slow from the beginning": {done(soaked(900, 0, 100), soaked(900, 0, 100)), ""},
		"a request failed":        {done(soaked(10, 1, 100), soaked(10, 0, 100)), "failed"},
		"more memory":             {done(soaked(10, 0, 100), soaked(10, 0, 121)), "memory"},
		"a video is missing":      {lost, "9 are complete"},
	} {
		err := row.report.check()
		if (err != nil) != (row.word != "") || err != nil && (!errors.Is(err, errSoak) || !strings.Contains(err.Error(), row.word)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
