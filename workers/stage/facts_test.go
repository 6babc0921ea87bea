package stage_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"telefuser/workers/stage"
)

// timed gives each stage a duration of the fake clock, in seconds.
func timed(encode, denoise, decode int) stage.Spec {
	spec := worldSpec(&journal{})
	for i, seconds := range []int{decode, denoise, encode} {
		run := spec.Stages[i].Run
		spec.Stages[i].Run = func(ctx context.Context, in stage.Invocation) (stage.Values, error) {
			time.Sleep(time.Duration(seconds) * time.Second)
			return run(ctx, in)
		}
	}
	return spec
}

// pause waits on the fake clock.
func pause(seconds int) { time.Sleep(time.Duration(seconds) * time.Second) }

func TestFactsOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, timed(1, 2, 1), stage.Config{})
		began := time.Now()
		x := open(t, s, "s", 1)
		raw, err := json.Marshal(x.Facts())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ingress_accepted_at", "output_emitted_at", "first_output_latency_seconds", "control_to_output_latency", "chunk_period"} {
			if !strings.Contains(string(raw), `"`+name+`":null`) {
				t.Errorf("%s is not null before there is any: %s", name, raw)
			}
		}
		pause(1)
		push(t, x, 0, request.Of(0)) // t=1: ahead of its control, which must not start that clock
		pause(4)
		for i := range int64(3) {
			push(t, x, i, control.Of("k")) // t=5
			if i > 0 {
				push(t, x, i, request.Of(0))
			}
		}
		var chunks []stage.ChunkFact
		for range 3 {
			c, err := x.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			chunks = append(chunks, c.Facts)
		}
		// Outputs at 8, 10 and 12 s.
		at := func(d time.Time) float64 { return d.Sub(began).Seconds() }
		if got := []float64{at(chunks[0].EmittedAt), at(chunks[1].EmittedAt), at(chunks[2].EmittedAt)}; !reflect.DeepEqual(got, []float64{8, 10, 12}) {
			t.Errorf("emitted at %v", got)
		}
		if got := []float64{chunks[0].ResidenceSeconds, chunks[1].ResidenceSeconds}; !reflect.DeepEqual(got, []float64{7, 5}) {
			t.Errorf("residence %v", got)
		}
		if chunks[0].PeriodSeconds != nil || *chunks[1].PeriodSeconds != 2 {
			t.Errorf("periods %v and %v", chunks[0].PeriodSeconds, *chunks[1].PeriodSeconds)
		}
		f := x.Facts()
		if at(*f.IngressAcceptedAt) != 1 || at(*f.OutputEmittedAt) != 8 || *f.FirstOutputLatencySeconds != 7 {
			t.Errorf("first output: %v %v %v", at(*f.IngressAcceptedAt), at(*f.OutputEmittedAt), *f.FirstOutputLatencySeconds)
		}
		if want := (stage.Summary{Count: 3, Min: 3, P50: 5, P95: 7, Max: 7, Mean: 5}); *f.ControlToOutput != want {
			t.Errorf("control to output %+v", *f.ControlToOutput)
		}
		if want := (stage.Summary{Count: 2, Min: 2, P50: 2, P95: 2, Max: 2, Mean: 2}); *f.ChunkPeriod != want {
			t.Errorf("chunk period %+v", *f.ChunkPeriod)
		}
		for _, i := range f.Invocations {
			if i.Stage == "denoise" && i.Sequence == 0 && at(i.InputsReadyAt) != 5 {
				t.Errorf("denoise 0: ready %v", at(i.InputsReadyAt))
			}
			if i.Stage == "denoise" && i.Sequence == 1 {
				if at(i.InputsReadyAt) != 6 || at(i.AdmittedAt) != 7 || at(i.CompletedAt) != 9 {
					t.Errorf("denoise 1: ready %v admitted %v completed %v", at(i.InputsReadyAt), at(i.AdmittedAt), at(i.CompletedAt))
				}
			}
		}
		if len(f.Invocations) != 9 {
			t.Errorf("%d invocations", len(f.Invocations))
		}
		closed(t, x)
	})
}

// TestAChunkTellsItsInvocations: each of its own sequence alone, and every idle interval once.
func TestAChunkTellsItsInvocations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, timed(1, 2, 1), stage.Config{})
		x := open(t, s, "s", 1)
		var idle []stage.IdleFact
		for i := range int64(100) {
			push(t, x, i, request.Of(0), control.Of("k"))
			c, err := x.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var stages []string
			for _, f := range c.Facts.Invocations {
				stages = append(stages, f.Stage)
				if f.Sequence != i || f.AdmittedAt.Before(f.InputsReadyAt) || f.CompletedAt.Before(f.AdmittedAt) {
					t.Errorf("chunk %d tells of %+v", i, f)
				}
			}
			if want := []string{"encode", "denoise", "decode"}; !reflect.DeepEqual(stages, want) {
				t.Errorf("chunk %d tells of %v, want %v", i, stages, want)
			}
			idle = append(idle, c.Facts.Idle...)
		}
		if all := x.Facts().Idle; len(idle) == 0 || !reflect.DeepEqual(idle, all[:len(idle)]) {
			t.Errorf("the chunks tell of %d idle intervals, the session of %d", len(idle), len(all))
		}
		if got, want := x.Latencies(), x.Facts().Latencies; !reflect.DeepEqual(got, want) || *got.FirstOutputLatencySeconds != 4 {
			t.Errorf("latencies %+v, facts %+v", got, want)
		}
		closed(t, x)
	})
}

// TestOnlyTheAnchorStartsTheClock: the other input comes after it and does not start it again.
func TestOnlyTheAnchorStartsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := start(t, timed(1, 1, 1), stage.Config{})
		x := open(t, s, "s", 1)
		push(t, x, 0, control.Of("k"))
		pause(2)
		push(t, x, 0, request.Of(0))
		c, err := x.Next(t.Context())
		if err != nil || *c.Facts.ControlToOutputSeconds != 5 || c.Facts.ResidenceSeconds != 3 {
			t.Errorf("%+v, %v", c.Facts, err)
		}
		closed(t, x)
	})
}

func TestSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := slow(&journal{}, stage.Stage{})
		spec.Stages[0].Run = stage.Map(in, out, func(_ context.Context, _ stage.Invocation, seconds int) (int, error) {
			pause(seconds)
			return seconds, nil
		})
		s, _ := start(t, spec, stage.Config{})
		x := open(t, s, "x", 1)
		for i := range 21 { // the first emission only starts the clock; then 20 down to 1
			push(t, x, int64(i), in.Of(21-i))
			if _, err := x.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := *x.Facts().ChunkPeriod, (stage.Summary{Count: 20, Min: 1, P50: 10, P95: 19, Max: 20, Mean: 10.5}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if x.Facts().ControlToOutput != nil {
			t.Error("a latency without an anchor")
		}
		closed(t, x)
	})
}

// idleOf is one stage's intervals as "reason seconds".
func idleOf(x *stage.Session, id string) []string {
	var got []string
	for _, f := range x.Facts().Idle {
		if f.Stage == id {
			got = append(got, string(f.Reason)+" "+f.To.Sub(f.From).String())
		}
	}
	return got
}

func TestIdleReasons(t *testing.T) {
	type step func(x, other *stage.Session)
	all := func(seq int64) step {
		return func(x, _ *stage.Session) {
			_, _ = x.TryPush(seq, request.Of(0))
			_, _ = x.TryPush(seq, control.Of("k"))
		}
	}
	requests := func(seq int64) step { return func(x, _ *stage.Session) { _, _ = x.TryPush(seq, request.Of(0)) } }
	controls := func(seq int64) step { return func(x, _ *stage.Session) { _, _ = x.TryPush(seq, control.Of("k")) } }
	others := func(seq int64) step { return func(_, o *stage.Session) { all(seq)(o, nil) } }
	wait := func(seconds int) step { return func(_, _ *stage.Session) { pause(seconds) } }
	next := func(x, _ *stage.Session) { _, _ = x.Next(context.Background()) }
	group := func(spec stage.Spec) stage.Spec {
		spec.ResourceGroups = []stage.ResourceGroup{{Name: "gpu", MaxConcurrency: 1}}
		spec.Stages[0].ResourceGroup, spec.Stages[1].ResourceGroup = "gpu", "gpu"
		return spec
	}
	tight := func(spec stage.Spec) stage.Spec {
		spec.Edges[3].CapacityPerSession, spec.Outputs[0].CapacityPerSession = 1, 1
		return spec
	}
	// No two things happen in the same second, so that their order is no matter of luck.
	for name, c := range map[string]struct {
		spec  stage.Spec
		steps []step
		stage string
		want  []string
	}{
		"continuous":        {timed(1, 2, 1), []step{all(0), all(1), wait(9)}, "denoise", []string{"continuous 0s"}},
		"condition":         {timed(3, 1, 1), []step{all(0), all(1), wait(9)}, "denoise", []string{"condition 2s"}},
		"control":           {timed(1, 2, 1), []step{all(0), requests(1), wait(5), controls(1), wait(5)}, "denoise", []string{"control 2s"}},
		"condition+control": {timed(1, 1, 1), []step{all(0), wait(5), all(1), wait(5)}, "denoise", []string{"condition+control 3s", "condition 1s"}},
		"inputs_not_ready":  {timed(1, 3, 1), []step{all(0), all(1), wait(9)}, "decode", []string{"inputs_not_ready 2s"}},
		"stage_capacity": {timed(1, 4, 1), []step{all(0), all(1), wait(1), others(0), wait(20)}, "denoise",
			[]string{"stage_capacity 4s"}},
		"resource_group": {group(timed(1, 2, 4)), []step{all(0), all(1), wait(20)}, "denoise", []string{"resource_group 4s"}},
		"edge_capacity": {tight(timed(1, 3, 1)), []step{all(0), all(1), all(2), wait(5), controls(2), all(3), wait(6), next, wait(9)},
			"denoise", []string{"continuous 0s", "edge_capacity 4s"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := start(t, c.spec, stage.Config{})
				x, other := open(t, s, "x", 1), open(t, s, "other", 1)
				synctest.Wait() // Run has begun
				for _, do := range c.steps {
					do(x, other)
				}
				if got := idleOf(x, c.stage); !reflect.DeepEqual(got, c.want) {
					t.Errorf("got %q, want %q", got, c.want)
				}
				closed(t, x)
				closed(t, other)
			})
		})
	}
}

func TestFactsAreBounded(t *testing.T) {
	s, _ := start(t, worldSpec(&journal{}), stage.Config{})
	x := open(t, s, "s", 1)
	feed(t, x, 5000)
	if _, err := drain(t, x); err != nil {
		t.Fatal(err)
	}
	f := x.Facts()
	if len(f.Invocations) != 4096 || len(f.Idle) > 4096 || f.Invocations[4095].Sequence != 4999 {
		t.Errorf("%d invocations, %d idle intervals", len(f.Invocations), len(f.Idle))
	}
	if f.ControlToOutput.Count != 5000 || f.ChunkPeriod.Count != 4999 {
		t.Errorf("counts %d and %d", f.ControlToOutput.Count, f.ChunkPeriod.Count)
	}
	closed(t, x)
}
