package stage

import "time"

// factsMax is how many invocations, idle intervals and samples of a session are kept, the newest ones: an hour of chunks of one second.
const factsMax = 4096

// InvocationFact is one invocation's moments. Differences are on the monotonic clock.
type InvocationFact struct {
	Stage         string    `json:"stage"`
	Sequence      int64     `json:"sequence"`
	InputsReadyAt time.Time `json:"inputs_ready_at"`
	// AdmittedAt is when the invocation was given to the actor.
	AdmittedAt  time.Time `json:"admitted_at"`
	CompletedAt time.Time `json:"completed_at"`
}

// ChunkFact is one output's moments.
type ChunkFact struct {
	// AdmittedAt is when the first stage of the sequence was given to its actor.
	AdmittedAt time.Time `json:"admitted_at"`
	// EmittedAt is when the sequence was complete and its turn had come; Next may have waited longer.
	EmittedAt time.Time `json:"emitted_at"`
	// ResidenceSeconds is the time between the two. It holds overlap, so it may exceed the interval between chunks.
	ResidenceSeconds float64 `json:"residence_seconds"`
	// ControlToOutputSeconds counts from the acceptance of the latency anchor; nil without anchor.
	ControlToOutputSeconds *float64 `json:"control_to_output_seconds"`
	// PeriodSeconds counts from the emission before it; nil for the first.
	PeriodSeconds *float64 `json:"period_seconds"`
	// Invocations are those of the sequence, in the order in which they were completed.
	Invocations []InvocationFact `json:"invocations"`
	// Idle are the intervals of all stages that ended since the last output was given, the newest of them.
	Idle []IdleFact `json:"idle_intervals"`
}

// chunkIdleMax bounds the idle intervals that one output tells of.
const chunkIdleMax = 64

// Latencies are what Facts tells of a session without its lists.
type Latencies struct {
	FirstOutputLatencySeconds *float64 `json:"first_output_latency_seconds"`
	ControlToOutput           *Summary `json:"control_to_output_latency"`
	ChunkPeriod               *Summary `json:"chunk_period"`
}

// Latencies may be asked at any time, also after Close. It costs less than Facts.
func (x *Session) Latencies() Latencies {
	x.sched.mu.Lock()
	defer x.sched.mu.Unlock()
	return x.facts.latencies()
}

func (f *facts) latencies() Latencies {
	out := Latencies{ControlToOutput: f.control.summary(), ChunkPeriod: f.period.summary()}
	if !f.emittedAt.IsZero() {
		seconds := f.emittedAt.Sub(f.acceptedAt).Seconds()
		out.FirstOutputLatencySeconds = &seconds
	}
	return out
}

// Facts are a session's raw measurements so far, without warm-up removed and without conclusions. Unknown is nil.
type Facts struct {
	OpenedAt time.Time `json:"opened_at"`
	// IngressAcceptedAt is the first acceptance of anything, OutputEmittedAt the first emission.
	IngressAcceptedAt *time.Time `json:"ingress_accepted_at"`
	OutputEmittedAt   *time.Time `json:"output_emitted_at"`
	Latencies
	Invocations []InvocationFact `json:"invocations"`
	Idle        []IdleFact       `json:"idle_intervals"`
}

// Facts copies what is known of the session; it may be asked at any time, also after Close.
func (x *Session) Facts() Facts {
	x.sched.mu.Lock()
	defer x.sched.mu.Unlock()
	f := &x.facts
	return Facts{
		OpenedAt: f.openedAt, IngressAcceptedAt: known(f.acceptedAt), OutputEmittedAt: known(f.emittedAt),
		Latencies: f.latencies(), Invocations: f.invocations.list(), Idle: f.idle.list(),
	}
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// facts gathers while the session runs.
type facts struct {
	openedAt, acceptedAt, emittedAt, lastEmittedAt time.Time

	control, period series
	chunks          map[int64]chunkTimes // between acceptance and Next: as many as the edges hold
	invocations     newest[InvocationFact]
	idle            newest[IdleFact]
	idleSince       []IdleFact // since the last output was given, at most chunkIdleMax
}

type chunkTimes struct {
	anchor, admitted, emitted time.Time
	period                    *time.Duration
	invocations               []InvocationFact
}

func (f *facts) change(seq int64, edit func(*chunkTimes)) chunkTimes {
	if f.chunks == nil {
		f.chunks = map[int64]chunkTimes{}
	}
	c := f.chunks[seq]
	edit(&c)
	f.chunks[seq] = c
	return c
}

func (f *facts) accepted(seq int64, anchor bool, now time.Time) {
	if f.acceptedAt.IsZero() {
		f.acceptedAt = now
	}
	if anchor {
		f.change(seq, func(c *chunkTimes) { c.anchor = now })
	}
}

func (f *facts) admitted(seq int64, now time.Time) {
	f.change(seq, func(c *chunkTimes) {
		if c.admitted.IsZero() {
			c.admitted = now
		}
	})
}

func (f *facts) completed(fact InvocationFact, at time.Time) {
	fact.CompletedAt = at
	f.invocations.add(fact)
	f.change(fact.Sequence, func(c *chunkTimes) { c.invocations = append(c.invocations, fact) })
}

func (f *facts) emitted(seq int64, now time.Time) {
	c := f.change(seq, func(c *chunkTimes) {
		c.emitted = now
		if !f.emittedAt.IsZero() {
			period := now.Sub(f.lastEmittedAt)
			c.period = &period
		}
	})
	if c.period == nil {
		f.emittedAt = now
	} else {
		f.period.add(*c.period)
	}
	f.lastEmittedAt = now
	if !c.anchor.IsZero() {
		f.control.add(now.Sub(c.anchor))
	}
}

// chunk gives a sequence's fact and forgets it.
func (f *facts) chunk(seq int64) ChunkFact {
	c := f.chunks[seq]
	delete(f.chunks, seq)
	fact := ChunkFact{
		AdmittedAt: c.admitted, EmittedAt: c.emitted, ResidenceSeconds: c.emitted.Sub(c.admitted).Seconds(), Invocations: c.invocations, Idle: f.idleSince,
	}
	f.idleSince = nil
	if c.period != nil {
		seconds := c.period.Seconds()
		fact.PeriodSeconds = &seconds
	}
	if !c.anchor.IsZero() {
		seconds := c.emitted.Sub(c.anchor).Seconds()
		fact.ControlToOutputSeconds = &seconds
	}
	return fact
}
