package workers

import (
	"errors"
	"syscall"

	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/workers/engine"
	"telefuser/workers/media"
)

// action is what follows for a job whose attempt did not end well.
type action int

const (
	// requeue gives the job back; the jobs room counts by cause and ends what was given back too often.
	requeue action = iota
	// fail ends the job.
	fail
	// drop leaves the record alone, because it is no longer this attempt's, and removes what the attempt has made.
	drop
)

// decision is the fate of a job, and what its metrics call it.
type decision struct {
	action  action
	cause   jobs.Cause
	failure jobs.Failure
	label   string
}

// verdict pairs an error with its decision.
type verdict struct {
	err error
	decision
}

// verdicts are tried from the top. What the attempt was told comes first: it explains the errors that followed from it.
var verdicts = []verdict{
	{jobs.ErrCancelled, decision{action: drop, label: "cancelled"}},
	{jobs.ErrLeaseLost, decision{action: drop, label: "stale"}},
	{jobs.ErrStale, decision{action: drop, label: "stale"}},
	{jobs.ErrDraining, decision{action: requeue, cause: jobs.CauseDraining, label: "draining"}},
	{jobs.ErrDeadline, failWith(jobs.CodeDeadline, "The job took longer than a job may take.")},

	{engine.ErrClosed, decision{action: requeue, cause: jobs.CauseDraining, label: "draining"}},
	{engine.ErrOutOfMemory, decision{action: requeue, cause: jobs.CauseOOM, label: "out_of_memory"}},
	{engine.ErrDeviceLost, decision{action: requeue, cause: jobs.CauseDevice, label: "device_lost"}},
	{engine.ErrStalled, decision{action: requeue, cause: jobs.CauseStalled, label: "stalled"}},
	{engine.ErrCrashed, decision{action: requeue, cause: jobs.CauseCrash, label: "crashed"}},
	{engine.ErrBusy, decision{action: requeue, cause: jobs.CauseTransient, label: "transient"}},
	{engine.ErrInvalid, failWith(jobs.CodeInvalid, "The pipeline does not accept this request.")},
	{engine.ErrInternal, failWith(jobs.CodeInternal, "The pipeline failed.")},

	{storage.ErrFull, failWith(jobs.CodeStorage, "There is no space left for the video.")},
	{media.ErrNoSpace, failWith(jobs.CodeStorage, "There is no space left for the video.")},
	{syscall.ENOSPC, failWith(jobs.CodeStorage, "There is no space left for the video.")},
	{storage.ErrNotFound, failWith(jobs.CodeSourceMissing, "A video or picture that this job is made from is not there any more.")},
	{media.ErrImageType, failWith(jobs.CodeInvalid, "The reference picture cannot be read.")},
	{media.ErrImageCorrupt, failWith(jobs.CodeInvalid, "The reference picture cannot be read.")},
	{media.ErrImageTooLarge, failWith(jobs.CodeInvalid, "The reference picture is too large.")},
	{media.ErrGeometry, failWith(jobs.CodeInternal, "The frames do not fit the video.")},
	{errShort, failWith(jobs.CodeInternal, "The pipeline made the wrong number of frames.")},
	{errSpec, failWith(jobs.CodeInvalid, "The job cannot be read.")},
}

func failWith(code, message string) decision {
	return decision{action: fail, failure: jobs.Failure{Code: code, Message: message}, label: code}
}

// classify decides what follows for a job from the error that ended its attempt. It is the only place that does. What nobody knows is
// taken for something that time may mend; the jobs room bounds how often.
func classify(err error) decision {
	for _, v := range verdicts {
		if errors.Is(err, v.err) {
			return v.decision
		}
	}
	return decision{action: requeue, cause: jobs.CauseTransient, label: "transient"}
}
