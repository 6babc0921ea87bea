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
}

// Facts are a session's raw measurements so far, without warm-up removed and without conclusions. Unknown is nil.
type Facts struct {
	OpenedAt time.Time `json:"opened_at"`
	// IngressAcceptedAt is the first acceptance of anything, OutputEmittedAt the first emission.
	IngressAcceptedAt         *time.Time       `json:"ingress_accepted_at"`
	OutputEmittedAt           *time.Time       `json:"output_emitted_at"`
	FirstOutputLatencySeconds *float64         `json:"first_output_latency_seconds"`
	ControlToOutput           *Summary         `json:"control_to_output_latency"`
	ChunkPeriod               *Summary         `json:"chunk_period"`
	Invocations               []InvocationFact `json:"invocations"`
	Idle                      []IdleFact       `json:"idle_intervals"`
}

// Facts copies what is known of the session; it may be asked at any time, also after Close.
func (x *Session) Facts() Facts {
	x.sched.mu.Lock()
	defer x.sched.mu.Unlock()
	f := &x.facts
	out := Facts{
		OpenedAt: f.openedAt, IngressAcceptedAt: known(f.acceptedAt), OutputEmittedAt: known(f.emittedAt),
		ControlToOutput: f.control.summary(), ChunkPeriod: f.period.summary(),
		Invocations: f.invocations.list(), Idle: f.idle.list(),
	}
	if out.OutputEmittedAt != nil {
		seconds := f.emittedAt.Sub(f.acceptedAt).Seconds()
		out.FirstOutputLatencySeconds = &seconds
	}
	return out
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
}

type chunkTimes struct{ anchor, admitted, emitted time.Time }

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
}

func (f *facts) emitted(seq int64, now time.Time) {
	c := f.change(seq, func(c *chunkTimes) { c.emitted = now })
	if f.emittedAt.IsZero() {
		f.emittedAt = now
	} else {
		f.period.add(now.Sub(f.lastEmittedAt))
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
	fact := ChunkFact{AdmittedAt: c.admitted, EmittedAt: c.emitted, ResidenceSeconds: c.emitted.Sub(c.admitted).Seconds()}
	if !c.anchor.IsZero() {
		seconds := c.emitted.Sub(c.anchor).Seconds()
		fact.ControlToOutputSeconds = &seconds
	}
	return fact
}
