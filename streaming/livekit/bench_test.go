package livekit_test

import (
	"slices"
	"testing"
	"time"

	"telefuser/internal/bench/viewer"
	"telefuser/streaming"
)

// report shows how long something took, in milliseconds.
func report(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
	b.ReportMetric(ms(took[len(took)*95/100]), "p95-ms")
	b.ReportMetric(ms(took[len(took)-1]), "max-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFirstFrame is the time from making a room to the first frame at a viewer who was told of it, encoder and all.
func BenchmarkFirstFrame(b *testing.B) {
	s := start(b)
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		room := s.room(b)
		joined := make(chan *viewer.Viewer)
		go func() { joined <- s.watch(b, room, "controller", streaming.RoleController, viewer.Options{}) }()
		p, err := s.Join(b.Context(), joinOf(room, 1))
		if err != nil {
			b.Fatal(err)
		}
		v := <-joined
		next(b, p, streaming.EventJoined)
		done := play(b.Context(), p, fps/2)
		if err := v.WaitFrames(within(b, patience), 1); err != nil {
			b.Fatal(err)
		}
		took = append(took, v.Stats().First.Sub(begin))
		<-done
		v.Close()
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
	report(b, took)
}

// BenchmarkLateViewer is the time from joining a running session to the first frame.
func BenchmarkLateViewer(b *testing.B) {
	s := start(b)
	room := s.room(b)
	p := s.publish(b, joinOf(room, 1))
	playing(b, p)
	s.watch(b, room, "first", streaming.RoleViewer, viewer.Options{})
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		v := s.watch(b, room, "late", streaming.RoleViewer, viewer.Options{})
		if err := v.WaitFrames(within(b, patience), 1); err != nil {
			b.Fatal(err)
		}
		took = append(took, v.Stats().First.Sub(begin))
		v.Close()
	}
	report(b, took)
}

// BenchmarkFrameToViewer is the time from a frame, before its encoding, to its last packet at a viewer.
func BenchmarkFrameToViewer(b *testing.B) {
	s := start(b)
	room := s.room(b)
	arrived := make(chan time.Time, 1)
	s.watch(b, room, "controller", streaming.RoleController, viewer.Options{OnFrame: func(f viewer.Frame) { arrived <- f.At }})
	p := s.publish(b, joinOf(room, 1))
	if err := p.WaitSubscribed(within(b, patience), "controller"); err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		if _, err := p.WriteFrame(b.Context(), picture(i), time.Duration(i)*time.Second/fps, time.Time{}); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-arrived).Sub(begin))
	}
	report(b, took)
}
