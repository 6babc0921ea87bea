package stage

import "time"

// Reason is why a stage did not work for a session.
type Reason string

const (
	// ReasonContinuous is the step from one invocation to the next when nothing had to be waited for.
	ReasonContinuous Reason = "continuous"
	// ReasonCondition, ReasonControl and ReasonConditionControl are missing inputs of those names.
	ReasonCondition        Reason = "condition"
	ReasonControl          Reason = "control"
	ReasonConditionControl Reason = "condition+control"
	// ReasonInputsNotReady is any other missing input.
	ReasonInputsNotReady Reason = "inputs_not_ready"
	// ReasonResourceGroup is a resource group without free slot.
	ReasonResourceGroup Reason = "resource_group"
	// ReasonStageCapacity is a stage that works for others.
	ReasonStageCapacity Reason = "stage_capacity"
	// ReasonEdgeCapacity is a downstream edge, or an output, without free slot.
	ReasonEdgeCapacity Reason = "edge_capacity"
	// ReasonSchedulerAdmission is the scheduler's own work: the mailbox held the release of another session.
	ReasonSchedulerAdmission Reason = "scheduler_admission"

	reasonWorking Reason = "working" // no idle time
	reasonDone    Reason = "done"    // no idle time: no more sequences will come
)

const (
	conditionName = "condition"
	controlName   = "control"
)

// IdleFact is an interval between two invocations of a stage for one session, or a part of it with one reason.
type IdleFact struct {
	Stage  string    `json:"stage"`
	Reason Reason    `json:"reason"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
}

// idle watches one stage of one session between two invocations.
type idle struct {
	since  time.Time // zero while working and before the first invocation
	reason Reason    // "" while nothing was in the way
}

// begin follows the end of an invocation with no other in flight.
func (d *idle) begin(at time.Time) { *d = idle{since: at} }

// blocked notes the reason of now; when it was another one until now, that interval is over.
func (d *idle) blocked(why Reason, now time.Time) (IdleFact, bool) {
	switch {
	case d.since.IsZero() || why == d.reason:
		return IdleFact{}, false
	case why == reasonWorking || why == reasonDone:
		return IdleFact{}, false
	case d.reason == "":
		d.reason = why
		return IdleFact{}, false
	}
	over := IdleFact{Reason: d.reason, From: d.since, To: now}
	d.since, d.reason = now, why
	return over, true
}

// end is the start of an invocation.
func (d *idle) end(now time.Time) (IdleFact, bool) {
	over := IdleFact{Reason: d.reason, From: d.since, To: now}
	if d.reason == "" {
		over.Reason = ReasonContinuous
	}
	was := !d.since.IsZero()
	*d = idle{}
	return over, was
}

// idled keeps an interval that is over.
func (f *facts) idled(stage string, fact IdleFact, over bool) {
	if !over {
		return
	}
	fact.Stage = stage
	f.idle.add(fact)
	if len(f.idleSince) == chunkIdleMax {
		f.idleSince = append(f.idleSince[:0], f.idleSince[1:]...)
	}
	f.idleSince = append(f.idleSince, fact)
}

// missing names what a stage waits for.
func (x *Session) missing(n *node, seq int64) Reason {
	var condition, control bool
	for i, e := range n.in {
		if x.lanes[e].full(seq) {
			continue
		}
		switch n.Consumes[i].Name() {
		case conditionName:
			condition = true
		case controlName:
			control = true
		default:
			return ReasonInputsNotReady
		}
	}
	switch {
	case condition && control:
		return ReasonConditionControl
	case condition:
		return ReasonCondition
	}
	return ReasonControl
}
