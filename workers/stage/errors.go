package stage

import (
	"errors"
	"fmt"
)

var (
	// ErrGraph means that a Spec breaks a rule; the message names the fault.
	ErrGraph = errors.New("stage: bad graph")
	// ErrConfig means that a Config is out of range.
	ErrConfig = errors.New("stage: bad config")
	// ErrClosed means that the session or the scheduler takes nothing more.
	ErrClosed = errors.New("stage: closed")
	// ErrCancelled is why a session stopped that was cancelled without a cause.
	ErrCancelled = errors.New("stage: cancelled")
	// ErrFull means that as many sessions are held as the config allows.
	ErrFull = errors.New("stage: no free session slot")
	// ErrExists means that a session of that name is open or still cleaning up.
	ErrExists = errors.New("stage: session exists")
	// ErrStale means that the epoch is not above an earlier one of the same session.
	ErrStale = errors.New("stage: stale epoch")
	// ErrPoisoned means that the session's clean-up failed: its state may not be used again.
	ErrPoisoned = errors.New("stage: poisoned session")
	// ErrDrain means that the drain timeout passed while an invocation or a release was still running.
	ErrDrain = errors.New("stage: drain timeout")
	// ErrSlotLeak means that a slot was still taken after clean-up. It is a defect of this package.
	ErrSlotLeak = errors.New("stage: slot leak")
	// ErrSequence means a sequence that is negative, beyond the final one, or a final one told too late.
	ErrSequence = errors.New("stage: bad sequence")
	// ErrRepeated means that the artifact was pushed before for the same sequence.
	ErrRepeated = errors.New("stage: repeated artifact")
	// ErrActorDead means that a stage's actor ended, so that no session can go on.
	ErrActorDead = errors.New("stage: actor dead")
)

// ArtifactError is an artifact that is not what the graph says.
type ArtifactError struct {
	Artifact string
	Fault    string
}

// Error names the artifact and the fault.
func (e *ArtifactError) Error() string {
	return fmt.Sprintf("stage: artifact %q: %s", e.Artifact, e.Fault)
}

// StageError is why a session failed: an invocation of it did.
type StageError struct {
	Key Key
	Err error
}

// Error names the stage and the sequence.
func (e *StageError) Error() string {
	return fmt.Sprintf("stage: %s, sequence %d: %v", e.Key.Stage, e.Key.Sequence, e.Err)
}

// Unwrap gives the stage's own error.
func (e *StageError) Unwrap() error { return e.Err }

// PanicError is a panic of a stage's function, caught on its actor.
type PanicError struct {
	Value any
	Stack []byte
}

// Error tells the panic's value; Stack is for the log.
func (e *PanicError) Error() string { return fmt.Sprintf("stage: panic: %v", e.Value) }

type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

// settledError is a fatal error whose actor has died of it. It hides the mark: other stages see the error as the cause of their
// contexts and may return it, and must not die of it too.
type settledError struct{ err error }

func (e *settledError) Error() string        { return e.err.Error() }
func (e *settledError) Is(target error) bool { return errors.Is(e.err, target) }
func (e *settledError) As(target any) bool {
	if _, mark := target.(**fatalError); mark {
		return false
	}
	return errors.As(e.err, target)
}

// settle says whether err is fatal, and takes the mark off.
func settle(err error) (fatal bool, settled error) {
	if mark := new(fatalError); errors.As(err, &mark) {
		return true, &settledError{err}
	}
	return false, err
}

// Fatal marks an error after which the stage's actor can do no further work, such as a lost device. It fails every session.
func Fatal(err error) error { return &fatalError{err} }
