package bench_test

import (
	"strings"
	"testing"

	"telefuser/internal/bench"
)

func TestTableSaysWhatIsUnknown(t *testing.T) {
	p50 := 1.234
	run := bench.Run{Name: "demo", Result: bench.Result{
		RateTarget: 100, RateAchieved: 99.5, Errors: map[string]int{"timeout": 1},
		Kinds: map[string]bench.KindResult{"get": {Requests: 10, Failed: 1, Dropped: 2, ResponseMS: bench.Quantiles{P50: &p50}}},
	}, Processes: []bench.ProcessResult{{Name: "api", CPUSeconds: 1.5, RSSBytesMax: 30 << 20}}}
	text := bench.Table([]bench.Run{run})
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want a head and a row:\n%s", len(lines), text)
	}
	for _, want := range []string{"demo", "1.23", " -  ", "1 failed, 2 dropped (timeout 1)", "api 1.5, 30", "99.5"} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("the row has no %q:\n%s", want, text)
		}
	}
}
