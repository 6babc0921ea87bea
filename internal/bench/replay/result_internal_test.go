package replay

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"telefuser/internal/bench/viewer"
)

// arrivals are n frames at the rate that was asked for.
func arrivals(n int) []viewer.Frame {
	frames := make([]viewer.Frame, n)
	for i := range frames {
		frames[i] = viewer.Frame{Timestamp: uint32(i) * 5625, At: time.Unix(0, 0).Add(time.Duration(i) * time.Second / 16)}
	}
	return frames
}

// good is the result of a workload that went as it should.
func good(w Workload) Result {
	r := Result{Declared: int64(w.Frames), Published: int64(w.Frames), Chunks: int64(w.Chunks), Outcome: "verified", Reason: "finished"}
	r.watch(arrivals(w.Frames))
	r.look(pictures(w.Frames), 100)
	return r
}

// pictures are n different ones.
func pictures(n int) []digest {
	out := make([]digest, n)
	for i := range out {
		out[i][0], out[i][1] = byte(i), byte(i>>8)
	}
	return out
}

func TestAResultThatIsAsItShouldBe(t *testing.T) {
	w := OneMinute()
	r := good(w)
	if bad := r.Problems(w, RateTolerance); len(bad) != 0 {
		t.Error(bad)
	}
	if w.Frames != 957 || w.Chunks != 60 || r.Moving != 857 || r.CallbackFPS < 15.999 || r.CallbackFPS > 16.001 || r.Freezes != 0 || *r.GapsMS.Max > 62.6 {
		t.Errorf("%+v", r)
	}
}

func TestEveryProblemIsNamed(t *testing.T) {
	w := OneMinute()
	for what, spoil := range map[string]func(*Result){
		"958 frames declared": func(r *Result) { r.Declared++ },
		"956 published":       func(r *Result) { r.Published-- },
		"956 received":        func(r *Result) { r.watch(arrivals(w.Frames - 1)) },
		"958 decoded":         func(r *Result) { r.look(pictures(w.Frames+1), w.Frames) },
		"1 frames dropped":    func(r *Result) { r.Dropped = 1 },
		"61 chunks of 60":     func(r *Result) { r.Chunks++ },
		"1 frames came twice by their time": func(r *Result) {
			frames := arrivals(w.Frames)
			frames[500].Timestamp = frames[3].Timestamp
			r.watch(frames)
		},
		"1 by their picture": func(r *Result) {
			all := pictures(w.Frames)
			all[700] = all[200]
			r.look(all, 100)
		},
		"no frame is known to differ": func(r *Result) { r.Moving = 0 },
		`"short"`:                     func(r *Result) { r.Outcome = "short" },
		`"worker_lost"`:               func(r *Result) { r.Reason = "worker_lost" },
		"15.9": func(r *Result) {
			frames := arrivals(w.Frames)
			for i := range frames {
				frames[i].At = frames[i].At.Add(time.Duration(i) * 220 * time.Microsecond)
			}
			r.watch(frames)
		},
	} {
		r := good(w)
		spoil(&r)
		if bad := strings.Join(r.Problems(w, RateTolerance), "; "); !strings.Contains(bad, what) {
			t.Errorf("%s: %q", what, bad)
		}
	}
}

// TestASlowServerIsHeldToItsOwnRate lets every frame come at a third of the session's rate.
func TestASlowServerIsHeldToItsOwnRate(t *testing.T) {
	w := OneMinute()
	r := good(w)
	frames := arrivals(w.Frames)
	for i := range frames {
		frames[i].At = frames[i].At.Add(time.Duration(i) * 125 * time.Millisecond)
	}
	r.watch(frames)
	for rate, want := range map[float64]bool{0: false, 5.3: true, 5.4: false} {
		w.RateMin = rate
		if bad := r.Problems(w, RateTolerance); (len(bad) == 0) != want {
			t.Errorf("at least %g frames a second: %v", rate, bad)
		}
	}
	if w.RateMin = 5; w.length() < 190*time.Second || w.length() > 192*time.Second {
		t.Errorf("957 frames at 5 a second last %v", w.length())
	}
	if w.RateMin = 50; w.length() > 60*time.Second {
		t.Errorf("a session of a minute is expected to last %v", w.length())
	}
}

func TestAStillPictureIsNoRepeatedFrame(t *testing.T) {
	all := pictures(20)
	all[4] = all[3]
	var r Result
	if r.look(all, 13); r.Decoded != 20 || r.Moving != 7 || r.RepeatedPictures != 0 {
		t.Errorf("%+v", r)
	}
	var none Result
	if none.look(all, 30); none.Moving != 0 {
		t.Errorf("%d frames move behind the last", none.Moving)
	}
}

func TestPicturesOfAnotherSizeAreNotOurs(t *testing.T) {
	key := func(width, height byte) viewer.Frame {
		return viewer.Frame{Key: true, Data: []byte{0x10, 0, 0, 0x9d, 1, 0x2a, width, 0, height, 0, 7}}
	}
	var r Result
	if frames := r.own([]viewer.Frame{key(64, 48), {Data: []byte{1}}, key(64, 48), key(8, 8)}, 64, 48); len(frames) != 3 || r.Foreign != 1 {
		t.Errorf("%d frames are ours, %d are not", len(frames), r.Foreign)
	}
}

func TestFreezesAreCounted(t *testing.T) {
	frames := arrivals(10)
	for i := 5; i < 10; i++ {
		frames[i].At = frames[i].At.Add(time.Second)
	}
	var r Result
	if r.watch(frames); r.Freezes != 1 || *r.GapsMS.Max < 1000 {
		t.Errorf("%+v", r)
	}
}

func TestHalfAPictureIsNone(t *testing.T) {
	if got, err := digests(bytes.NewReader(make([]byte, 20)), 10); err != nil || len(got) != 2 || got[0] != got[1] {
		t.Errorf("%d pictures, %v", len(got), err)
	}
	if _, err := digests(bytes.NewReader(make([]byte, 25)), 10); err == nil {
		t.Error("half a picture counts")
	}
}

func TestAShorterWorkload(t *testing.T) {
	if w := OneMinute(); len(w.Cut(w.Frames).Keys) != len(w.Keys) || w.Cut(45).Chunks != 3 || len(w.Cut(45).Keys) != 1 || w.Cut(45).Size != w.Size {
		t.Errorf("%+v", w.Cut(45))
	}
}

func TestChunksOf(t *testing.T) {
	for frames, want := range map[int]int{1: 1, 13: 1, 14: 2, 29: 2, 30: 3, 45: 3, 957: 60} {
		if got := ChunksOf(frames); got != want {
			t.Errorf("%d frames are %d chunks, not %d", frames, want, got)
		}
	}
}
