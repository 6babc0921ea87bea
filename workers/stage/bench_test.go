package stage_test

import (
	"context"
	"fmt"
	"testing"

	"telefuser/workers/stage"
)

// BenchmarkInvocation is the scheduler's whole cost of one invocation: three stages that do nothing, one operation a chunk through all.
func BenchmarkInvocation(b *testing.B) {
	for _, sessions := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) { benchFlow(b, sessions) })
	}
}

func benchFlow(b *testing.B, sessions int) {
	b.Helper()
	g, err := stage.Build(worldSpec(&journal{}))
	if err != nil {
		b.Fatal(err)
	}
	s, err := stage.New(g, stage.Config{SessionsMax: sessions})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	chunks := int64(b.N/sessions + 1)
	done := make(chan error, 2*sessions)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range sessions {
		x, err := s.Open(fmt.Sprint(i), 1)
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			for seq := range chunks {
				if err := x.Push(ctx, seq, request.Of(0), control.Of("k")); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		go func() {
			for range chunks {
				if _, err := x.Next(ctx); err != nil {
					done <- err
					return
				}
			}
			done <- x.Close(ctx)
		}()
	}
	for range 2 * sessions {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(3*chunks*int64(sessions)), "ns/invocation")
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}
