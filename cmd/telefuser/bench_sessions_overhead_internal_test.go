package main

import (
	"math"
	"strings"
	"testing"

	"telefuser/internal/bench"
)

func TestOverheadIsWhatIsLeft(t *testing.T) {
	before := map[string]float64{counterFrames: 100, counterEncodeCPU: 1, counterRenderCPU: 10}
	after := map[string]float64{counterFrames: 1100, counterEncodeCPU: 4, counterRenderCPU: 18}
	used := []bench.ProcessResult{{Name: processServe, CPUSeconds: 3.2}, {Name: processEngine, CPUSeconds: 5}, {Name: processEngine, CPUSeconds: 3.1}, {Name: "livekit", CPUSeconds: 9}}
	r := newOverhead(before, after, used)
	for name, pair := range map[string][2]float64{
		"encode": {r.EncodeMS, 3}, "render": {r.RenderMS, 8}, "serve": {r.ServeMS, 0.2}, "engine": {r.EngineMS, 0.1}, "total": {r.TotalMS, 0.3}, "frames": {float64(r.Frames), 1000},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
		}
	}
	if text := r.String(); !strings.Contains(text, "serve 0.200 + engine 0.100 = 0.300") {
		t.Errorf("it says %q", text)
	}
	for _, lacking := range []map[string]float64{before, {counterFrames: 1100, counterEncodeCPU: 4}, {counterFrames: 1100, counterRenderCPU: 18}} {
		if r := newOverhead(before, lacking, used); r != nil || r.String() != "" {
			t.Errorf("%v answers %v", lacking, r)
		}
	}
}
