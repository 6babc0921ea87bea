package streaming

import "errors"

// endError ends a session with a reason.
type endError struct {
	reason string
	// message says more than the reason's own sentence, or nothing.
	message string
	// err is why, for the log.
	err error
}

func endWith(reason string) *endError { return &endError{reason: reason} }

func (e *endError) Error() string {
	if e.err != nil {
		return "streaming: " + e.reason + ": " + e.err.Error()
	}
	return "streaming: " + e.reason
}

func (e *endError) Unwrap() error { return e.err }

// The other causes with which a run ends.
var (
	// errReplaced says that somebody else has our place in the room: a newer epoch, or a stranger.
	errReplaced = errors.New("streaming: our place in the room was taken")
	// errDrained says that the worker goes away and its grace is over.
	errDrained = errors.New("streaming: the worker is draining")
)

// outcome is what a run's cause means for the record.
type outcome struct {
	// reason ends the session, unless it is empty.
	reason, message string
	// handOver offers it to another owner first; charge counts that as a death.
	handOver, charge bool
	// gone says that the record is not ours any more; reason then is what it says.
	gone bool
}

// conclude is the one place that decides what follows from a run's cause.
func conclude(cause error) outcome {
	var end *endError
	var stale *staleError
	switch {
	case errors.As(cause, &stale):
		return outcome{gone: true, reason: stale.reason}
	case errors.Is(cause, ErrStale):
		return outcome{gone: true}
	case errors.Is(cause, errReplaced):
		// Where a newer epoch came, the record is its own and refuses this end. A stranger is not fought over the place.
		return outcome{reason: ReasonReplaced}
	case errors.Is(cause, ErrEngineLost):
		return outcome{reason: ReasonWorkerLost, handOver: true, charge: true}
	case errors.Is(cause, errDrained):
		return outcome{reason: ReasonDrained, handOver: true}
	case errors.As(cause, &end):
		return outcome{reason: end.reason, message: end.message}
	}
	return outcome{reason: ReasonPipelineFailed}
}
