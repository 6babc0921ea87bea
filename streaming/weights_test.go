package streaming_test

import (
	"context"
	"testing"
	"time"

	"telefuser/streaming"
)

// seeded is an engine whose sources have weights from a seed.
type seeded struct{ *engine }

// seededSource is one of them.
type seededSource struct{ streaming.Source }

// Weights says where they come from.
func (seededSource) Weights() string { return "random:7" }

// Open opens one.
func (s seeded) Open(ctx context.Context, of streaming.Session) (streaming.Source, error) {
	source, err := s.engine.Open(ctx, of)
	return seededSource{source}, err
}

// TestWeightsFromASeedAreTold marks what a session says of itself where its pictures mean nothing, and nothing elsewhere.
func TestWeightsFromASeedAreTold(t *testing.T) {
	for _, row := range []struct {
		name string
		eng  func() streaming.Engine
		want any
	}{
		{"from a seed", func() streaming.Engine { return seeded{&engine{took: time.Millisecond}} }, "random:7"},
		{"a model's own", func() streaming.Engine { return &engine{took: time.Millisecond} }, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBundle(t, quick())
			b.pool(streaming.PoolConfig{}, row.eng())
			s := b.create(func(s *streaming.Spec) { s.Frames = framesPerChunk })
			room := b.rooms.of(s.Room)
			room.enter("ann")
			b.ends(s.ID, streaming.ReasonFinished)
			ready := room.find(t, func(m message) bool { return m.stage() == "runtime_ready" })
			if ready == nil || ready.data()["weights"] != row.want {
				t.Errorf("runtime_ready: %v, want weights %v", ready, row.want)
			}
			told := false
			for _, m := range room.heard(t, streaming.TopicMetrics) {
				if m["type"] == "runtime" {
					told = true
					if m["weights"] != row.want {
						t.Errorf("fact: %v, want weights %v", m, row.want)
					}
				}
			}
			if !told {
				t.Error("no fact of the runtime")
			}
		})
	}
}
