package streaming

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telefuser/workers/media"
)

// screen notes when frames were written.
type screen struct {
	at   []time.Duration
	pts  []time.Duration
	t0   time.Time
	cost func(n int) time.Duration
}

func (s *screen) write(ctx context.Context, _ media.Frame, pts time.Duration, due time.Time) error {
	if err := sleepUntil(ctx, due); err != nil {
		return err
	}
	s.at, s.pts = append(s.at, time.Since(s.t0)), append(s.pts, pts)
	if s.cost != nil {
		<-time.After(s.cost(len(s.at)))
	}
	return nil
}

const period = 50 * time.Millisecond

func pacing(lossless bool, cost func(int) time.Duration) (*pacer, *screen) {
	s := &screen{t0: time.Now(), cost: cost}
	return &pacer{period: period, lossless: lossless, timeline: &timeline{}, write: s.write}, s
}

func chunkOf(frames int) *item { return &item{Chunk: Chunk{Frames: make([]media.Frame, frames)}} }

func play(t *testing.T, p *pacer, it *item) shown {
	t.Helper()
	out, err := p.play(t.Context(), it)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPacerKeepsTheCadence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := pacing(false, func(int) time.Duration { return 7 * time.Millisecond })
		for range 10 {
			play(t, p, chunkOf(16))
		}
		for i, at := range s.at {
			if want := time.Duration(i) * period; at != want || s.pts[i] != want {
				t.Fatalf("frame %d at %v with pts %v, want %v", i, at, s.pts[i], want)
			}
		}
	})
}

// TestPacerMakesFramesReadyAhead writes frames that take half the time between two to make ready: all but the first, which nothing goes before, leave when they are due.
func TestPacerMakesFramesReadyAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := pacing(false, nil)
		p.write = func(ctx context.Context, f media.Frame, pts time.Duration, due time.Time) error {
			<-time.After(period / 2)
			return s.write(ctx, f, pts, due)
		}
		play(t, p, chunkOf(4))
		play(t, p, chunkOf(4))
		for i, at := range s.at[1:] {
			if want := time.Duration(i+1) * period; at != want {
				t.Errorf("frame %d at %v, want %v", i+1, at, want)
			}
		}
	})
}

// TestSessionsShareABeat begins at odd moments: the first frame waits for the beat, and what comes late is not made later by it.
func TestSessionsShareABeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 3 {
			<-time.After(17 * time.Millisecond)
			p, s := pacing(false, nil)
			play(t, p, chunkOf(4))
			for i, at := range s.at {
				if off := time.Duration(s.t0.Add(at).UnixNano()) % period; off != 0 || at >= time.Duration(i+1)*period {
					t.Errorf("frame %d at %v is %v off the beat", i, at, off)
				}
			}
			<-time.After(period + 3*time.Millisecond)
			late := time.Since(s.t0)
			play(t, p, chunkOf(1))
			if at := s.at[4]; at != late {
				t.Errorf("a late chunk at %v, want %v", at, late)
			}
		}
	})
}

// TestWhatNobodySeesIsDroppedInTime and not ahead of it.
func TestWhatNobodySeesIsDroppedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &claim{session: Session{ID: "s", Spec: Spec{FPS: 16}}}
		r := newRun(PoolConfig{}.withDefaults(), c, nil, nil, nil, newPoolMetrics(), newWorkerStats("0"), slog.New(slog.DiscardHandler))
		begin := time.Now()
		if err := r.show(t.Context(), media.NewFrame(16, 16), 0, begin.Add(period)); err != nil || r.snapshot().DroppedFrames != 1 {
			t.Errorf("%+v %v", r.snapshot(), err)
		}
		if took := time.Since(begin); took != period {
			t.Errorf("dropped after %v", took)
		}
	})
}

func TestPacerDoesNotCatchUpWithALateSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := pacing(false, nil)
		play(t, p, chunkOf(4))
		<-time.After(time.Second)
		play(t, p, chunkOf(4))
		for i := 1; i < len(s.at); i++ {
			if gap := s.at[i] - s.at[i-1]; gap < period || s.pts[i]-s.pts[i-1] != gap {
				t.Errorf("frame %d follows after %v, its pts after %v", i, gap, s.pts[i]-s.pts[i-1])
			}
		}
	})
}

// TestPacerWithAWriterThatStalls stalls one write for six periods. Latest drops what is late and is back on its clock; lossless moves back and drops nothing.
func TestPacerWithAWriterThatStalls(t *testing.T) {
	stall := func(n int) time.Duration {
		if n == 3 {
			return 6*period + period/2
		}
		return 0
	}
	synctest.Test(t, func(t *testing.T) {
		p, s := pacing(false, stall)
		out := play(t, p, chunkOf(16))
		if out.frames != 11 || out.dropped != 5 {
			t.Errorf("%+v", out)
		}
		if last := s.at[len(s.at)-1]; last != 15*period {
			t.Errorf("the last frame at %v: not back on the clock", last)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p, s := pacing(true, stall)
		out := play(t, p, chunkOf(16))
		if out.frames != 16 || out.dropped != 0 {
			t.Errorf("%+v", out)
		}
		for i := 4; i < len(s.at); i++ {
			if gap := s.at[i] - s.at[i-1]; gap != period {
				t.Errorf("frame %d follows after %v", i, gap)
			}
		}
	})
}

func TestPacerEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := pacing(false, nil)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*period/2, endWith(ReasonDeleted))
		defer cancel()
		out, err := p.play(ctx, chunkOf(16))
		if conclude(err).reason != ReasonDeleted || out.frames != 3 || len(s.at) != 3 {
			t.Errorf("%+v %v", out, err)
		}
	})
}

// TestForesightAsksLate plays against a source of known speed, whose first chunk waits for its audience: every chunk is there in time, and none is asked for
// much too early.
func TestForesightAsksLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f foresight
		p, s := pacing(false, nil)
		const took, frames = 200 * time.Millisecond, 20
		const length = frames * period
		q, asked := newChunkQueue(), make([]time.Time, 12)
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-time.After(10 * time.Second) // the audience comes late
			for range asked {
				it, err := q.take(t.Context())
				if err == nil {
					_, err = p.play(t.Context(), it)
				}
				if err != nil {
					t.Error(err)
				}
			}
		}()
		for i := range asked {
			if i == 1 {
				<-time.After(10 * time.Second)
			}
			if err := sleepUntil(t.Context(), f.ask(p.timeline.until(time.Now()))); err != nil {
				t.Fatal(err)
			}
			asked[i] = time.Now()
			<-time.After(took)
			f.made(took, length)
			p.timeline.add(length)
			if q.put(chunkOf(frames)) != nil {
				t.Fatal("dropped")
			}
		}
		<-done
		for i := 2; i < len(asked); i++ {
			shownAt := s.at[i*frames]
			if gap := shownAt - s.at[i*frames-1]; gap != period {
				t.Errorf("chunk %d is %v late", i, gap-period)
			}
			if early := shownAt - asked[i].Sub(s.t0); early > took+took/5+foresightMargin {
				t.Errorf("chunk %d was asked for %v before its time", i, early)
			}
		}
	})
}

// TestForesightLooksNoFurtherThanTheQueue asks a slow source for short chunks: none is asked for so early that it would put another one out.
func TestForesightLooksNoFurtherThanTheQueue(t *testing.T) {
	var f foresight
	const length = 4 * period
	f.made(10*length, length)
	shownAt := time.Now()
	if early := shownAt.Sub(f.ask(shownAt)); early != chunksMax*length {
		t.Errorf("asked for %v before its time", early)
	}
	f.made(length/8, length)
	for range foresightChunks {
		f.made(length/8, length)
	}
	if early := shownAt.Sub(f.ask(shownAt)); early != length/8+length/40+foresightMargin {
		t.Errorf("asked for %v before its time", early)
	}
}

func TestChunkQueue(t *testing.T) {
	q := newChunkQueue()
	a, b, c := chunkOf(1), chunkOf(2), chunkOf(3)
	if q.put(a) != nil || q.put(b) != nil || q.hasRoom() {
		t.Fatal("the queue holds two")
	}
	if q.put(c) != a {
		t.Fatal("the newest wins, the oldest goes")
	}
	for _, want := range []*item{b, c} {
		if got, err := q.take(t.Context()); got != want || err != nil {
			t.Fatal(got, err)
		}
	}
	q.close()
	if got, err := q.take(t.Context()); got != nil || err != nil {
		t.Fatal(got, err)
	}
	if q.highWatermark() != chunksMax {
		t.Fatal(q.highWatermark())
	}
}

// TestOutboxPolicy fills an outbox that cannot send: last words and the newest of each stage stay, the rest is dropped and counted.
func TestOutboxPolicy(t *testing.T) {
	o := newOutbox("s", newLink(nil, Join{}, PoolConfig{}, nil))
	o.status("worker_running", nil, nil)
	for i := range 10 * lettersMax {
		o.status("chunk_sent", &i, nil)
	}
	o.fail("worker_failed", "It broke.")
	for range 10 * measuresMax {
		o.measure(fact{"chunk", fields{}})
	}
	for i := range 10 * lettersMax {
		o.status(fmt.Sprint("stage ", i%200), nil, nil)
	}
	for range 10 * lettersMax {
		o.status("control_state", nil, nil)
	}
	stages := map[string]int{}
	for _, l := range o.letters {
		stages[l.topic+" "+l.stage]++
	}
	if len(o.letters) > lettersMax+measuresMax+1 || stages[TopicStatus+" error"] != 1 || stages[TopicStatus+" control_state"] == 0 || stages[TopicMetrics+" chunk"] != measuresMax {
		t.Errorf("%v", stages)
	}
	if want := int64(1+10*lettersMax+1+10*measuresMax+20*lettersMax) - int64(len(o.letters)); o.drops() != want {
		t.Errorf("counted %d drops of %d", o.drops(), want)
	}
}

// TestFactsGoAlongWithAStatus: by themselves they wake nobody, and they are sent before the status that does.
func TestFactsGoAlongWithAStatus(t *testing.T) {
	o := newOutbox("s", newLink(nil, Join{}, PoolConfig{}, nil))
	o.measure(fact{"chunk", fields{}})
	if len(o.nonEmpty) != 0 {
		t.Error("facts wake the outbox")
	}
	o.status("chunk_sent", nil, nil)
	if len(o.nonEmpty) != 1 || len(o.letters) != 2 || o.letters[0].topic != TopicMetrics {
		t.Errorf("%d wakes, %d letters", len(o.nonEmpty), len(o.letters))
	}
}

// TestFactsShareAMessage while they are short.
func TestFactsShareAMessage(t *testing.T) {
	long := strings.Repeat("x", packBytesMax/2)
	for _, c := range []struct {
		facts []fact
		want  []int
	}{
		{nil, nil},
		{[]fact{{"chunk", fields{}}}, []int{1}},
		{[]fact{{"schedule", fields{}}, {"phase", fields{}}, {"chunk", fields{"bad": math.NaN()}}, {"chunk", fields{}}}, []int{3}},
		{[]fact{{"a", fields{"v": long}}, {"b", fields{"v": long}}, {"c", fields{}}, {"d", fields{"v": long + long + long}}}, []int{1, 2, 1}},
	} {
		o := newOutbox("s", newLink(nil, Join{}, PoolConfig{}, nil))
		o.measure(c.facts...)
		var got []int
		for _, l := range o.letters {
			var facts []map[string]any
			if err := json.Unmarshal(l.payload, &facts); err != nil {
				t.Fatal(err)
			}
			for _, f := range facts {
				if f["type"] == nil || f["session_id"] != "s" || f["utc"] == nil {
					t.Errorf("%v", f)
				}
			}
			got = append(got, len(facts))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d facts in messages of %v, want %v", len(c.facts), got, c.want)
		}
	}
}

func TestBucket(t *testing.T) {
	b, now := newBucket(10), time.Unix(0, 0)
	taken := 0
	for i := range 1000 { // one second at 1000/s
		if b.take(now.Add(time.Duration(i) * time.Millisecond)) {
			taken++
		}
	}
	if taken != 19 && taken != 20 {
		t.Errorf("%d", taken)
	}
}

func TestRate(t *testing.T) {
	var r rate
	t0 := time.Unix(1000, 0)
	for i := range 600 {
		r.add(t0.Add(time.Duration(i) * time.Second / 16))
	}
	if got := r.perSecond(t0.Add(600 * time.Second / 16)); got < 15.9 || got > 16.1 {
		t.Errorf("%v", got)
	}
	if got := r.perSecond(t0.Add(time.Hour)); got != 0 {
		t.Errorf("an hour later: %v", got)
	}
}

func TestBitrateFollowsTheSize(t *testing.T) {
	for _, c := range []struct{ configured, width, height, fps, want int }{
		{0, 832, 480, 16, 1_916_928}, {0, 64, 64, 16, 500_000}, {0, 1920, 1088, 30, 8_000_000}, {4_000_000, 64, 64, 16, 4_000_000},
	} {
		if got := (PoolConfig{BitrateBitsPerSecond: c.configured}).bitrate(Spec{Width: c.width, Height: c.height, FPS: c.fps}); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
