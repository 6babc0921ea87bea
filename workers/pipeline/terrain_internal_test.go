package pipeline

import (
	"testing"
	"time"

	"telefuser/workers/contract"
)

// TestLaterChunksAreMadeMeanwhile takes two chunks of a bounded request and sees the next ones made, as many as the edges hold and no more; a live session begins none.
func TestLaterChunksAreMadeMeanwhile(t *testing.T) {
	for name, test := range map[string]struct {
		frames int
		// reach and most are the last sequence of each stage when nothing moves any more: a call pushes as many as find room at its time.
		reach, most map[string]int64
	}{
		"bounded": {1 + 4*100, map[string]int64{StageEncode: 3, StageGenerate: 3, StageDecode: 2}, map[string]int64{StageEncode: 4, StageGenerate: 3, StageDecode: 2}},
		"live":    {0, map[string]int64{StageEncode: 1, StageGenerate: 1, StageDecode: 1}, map[string]int64{StageEncode: 1, StageGenerate: 1, StageDecode: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewTerrain()
			session, err := p.Open(t.Context(), Request{Task: contract.TaskTextToVideo, Prompt: "hills", Width: 64, Height: 64, FPS: 16, Frames: test.frames})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := session.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			flow := session.(*terrainSession).flow
			deadline := time.After(10 * time.Second)
			for last := map[string]int64{}; ; {
				for _, i := range flow.Facts().Invocations {
					last[i.Stage] = max(last[i.Stage], i.Sequence)
				}
				done := true
				for stage, most := range test.most {
					if last[stage] > most {
						t.Fatalf("%s has made chunk %d, want %d at most", stage, last[stage], most)
					}
					done = done && last[stage] >= test.reach[stage]
				}
				if done {
					break
				}
				select {
				case <-deadline:
					t.Fatalf("the stages are at %v, want %v", last, test.reach)
				case <-time.After(time.Millisecond):
				}
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNamesAreUsedAgainWithAHigherEpoch and never after a clean-up that failed.
func TestNamesAreUsedAgainWithAHigherEpoch(t *testing.T) {
	p := NewTerrain()
	open := func() *terrainSession {
		session, err := p.Open(t.Context(), Request{Task: contract.TaskTextToVideo, Prompt: "hills", Width: 64, Height: 64, FPS: 16})
		if err != nil {
			t.Fatal(err)
		}
		return session.(*terrainSession)
	}
	first, second := open(), open()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third := open()
	if first.flow.Key().Session != third.flow.Key().Session || third.flow.Key().Epoch != 2 || second.flow.Key().Session == third.flow.Key().Session {
		t.Errorf("names %v, %v, %v", first.flow.Key(), second.flow.Key(), third.flow.Key())
	}
	for _, s := range []*terrainSession{second, third} {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
