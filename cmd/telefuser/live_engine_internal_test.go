package main

import (
	"testing"

	"telefuser/streaming"
	"telefuser/workers/contract"
)

func TestLiveSessionsHaveShortChunks(t *testing.T) {
	one := 1.0
	short := contract.Contract{Parameters: []contract.Parameter{{Name: "speed"}, {Name: "chunk_size", Type: contract.TypeInteger, Min: &one}}}
	latest := streaming.Spec{Delivery: streaming.DeliveryLatest, Parameters: map[string]any{"speed": 2.0}}
	chosen, bounded, lossless := latest, latest, latest
	chosen.Parameters = map[string]any{"chunk_size": int64(4)}
	bounded.Frames = 957
	lossless.Delivery = streaming.DeliveryLossless
	for name, c := range map[string]struct {
		spec    streaming.Spec
		accepts contract.Contract
		want    any
	}{
		"open-ended": {latest, short, int64(1)}, "chosen": {chosen, short, int64(4)}, "bounded": {bounded, short, nil}, "lossless": {lossless, short, nil},
		"a pipeline with chunks of one length": {latest, contract.Contract{}, nil},
	} {
		if got := liveParameters(c.spec, c.accepts)["chunk_size"]; got != c.want {
			t.Errorf("%s: chunk_size %v, want %v", name, got, c.want)
		}
	}
	if got := liveParameters(latest, short)["speed"]; got != 2.0 || len(latest.Parameters) != 1 {
		t.Errorf("speed %v, parameters %v", got, latest.Parameters)
	}
}
