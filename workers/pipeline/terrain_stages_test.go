package pipeline_test

import (
	"errors"
	"reflect"
	"testing"

	"telefuser/workers/media"
	"telefuser/workers/pipeline"
	"telefuser/workers/stage"
)

func TestChunksTellTheirTiming(t *testing.T) {
	t.Parallel()
	for name, frames := range map[string]int{"bounded": 61, "live": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := open(t, request(frames))
			for i := range 4 {
				timing := next(t, session).Timing
				if timing == nil || timing.ResidenceNS <= 0 || timing.ControlToOutputNS == nil || *timing.ControlToOutputNS < timing.ResidenceNS {
					t.Fatalf("chunk %d: %+v", i, timing)
				}
				if (timing.PeriodNS == nil) != (i == 0) || timing.Session.FirstOutputLatencySeconds == nil || timing.Session.ControlToOutput.Count < int64(i+1) {
					t.Errorf("chunk %d: %+v", i, timing)
				}
				var stages []string
				for _, in := range timing.Invocations {
					stages = append(stages, in.Stage)
					if in.WaitNS < 0 || in.RunNS < 0 || in.CompletedAt.Before(in.AdmittedAt) {
						t.Errorf("chunk %d: %+v", i, in)
					}
				}
				if want := []string{"encode", "generate", "decode"}; !reflect.DeepEqual(stages, want) {
					t.Errorf("chunk %d went through %v", i, stages)
				}
				if timing.Diagnostics != (stage.Diagnostics{}) {
					t.Errorf("diagnostics %+v", timing.Diagnostics)
				}
			}
		})
	}
}

// TestSessionsShareOnePipeline makes chunks of several flights in turn: each has the frames that it has alone, whatever the others do.
func TestSessionsShareOnePipeline(t *testing.T) {
	t.Parallel()
	p, err := pipeline.New("terrain")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	requests := make([]pipeline.Request, 4)
	for i := range requests {
		requests[i] = request(45)
		requests[i].Seed = int64(i)
	}
	requests[3].Frames = 0
	fly := func(session pipeline.Session) {
		if requests[3].Frames == 0 {
			control(t, session, keys("", "wl"))
		}
	}
	sessions, got := make([]pipeline.Session, len(requests)), make([][]media.Frame, len(requests))
	for i, req := range requests {
		sessions[i] = openOn(t, p, req)
	}
	fly(sessions[3])
	for range 3 {
		for i, session := range sessions {
			got[i] = append(got[i], next(t, session).Frames...)
		}
	}
	for i, req := range requests {
		alone := open(t, req)
		if i == 3 {
			fly(alone)
		}
		var want []media.Frame
		for range 3 {
			want = append(want, next(t, alone).Frames...)
		}
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("session %d has other frames than alone", i)
		}
	}
}

// TestEndedSessionsLeaveNothing opens and closes more sessions than there are slots, in the middle of their work.
func TestEndedSessionsLeaveNothing(t *testing.T) {
	t.Parallel()
	p, err := pipeline.New("terrain")
	if err != nil {
		t.Fatal(err)
	}
	req := request(61)
	req.Parameters = map[string]any{"chunk_size": int64(1)} // as many chunks are under way, and they are small
	for i := range 66 {
		session, err := p.Open(t.Context(), req)
		if err != nil {
			t.Fatal(i, err)
		}
		if i%2 == 0 {
			next(t, session)
		}
		if err := session.Close(); err != nil {
			t.Fatal(i, err)
		}
		if _, err := session.Next(t.Context()); err == nil {
			t.Fatal("a closed session makes chunks")
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal("twice:", err)
	}
}

// TestAChunkThatNobodyWaitedForIsNotLost ends a call before its chunk is there; the next call gets it.
func TestAChunkThatNobodyWaitedForIsNotLost(t *testing.T) {
	t.Parallel()
	session := open(t, request(29))
	cause := errors.New("enough")
	if _, err := session.Next(ended(t, cause)); !errors.Is(err, cause) {
		t.Fatalf("Next answers %v", err)
	}
	chunks, frames := drain(t, session)
	if len(frames) != 29 || chunks[0].Index != 0 {
		t.Errorf("%d frames from chunk %d on", len(frames), chunks[0].Index)
	}
}
