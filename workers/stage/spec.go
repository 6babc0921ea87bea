package stage

import (
	"context"
	"runtime"
)

// External as the source of an edge means that the session's owner pushes the artifact.
const External = ""

// Ordering is the order in which a stage takes the sequences of one session.
type Ordering int

const (
	// Strict takes sequence 0, 1, 2 ... and waits for what is missing. It is the default.
	Strict Ordering = iota
	// Unordered takes the lowest sequence whose inputs are there. Outputs leave the graph in order all the same.
	Unordered
)

// RunFunc does one invocation on the stage's actor. It returns exactly the artifacts that the stage produces. An error fails the session
// that it worked for and no other, unless it is made by Fatal. ctx ends when the session is cancelled; what is returned then is dropped.
type RunFunc func(ctx context.Context, in Invocation) (Values, error)

// ReleaseFunc frees what the stage keeps for a session, on the stage's actor. It is called once for a session that the stage has worked
// for, after the last invocation. ctx ends with the drain timeout. An error poisons the session.
type ReleaseFunc func(ctx context.Context, session SessionKey) error

// EnterFunc runs on the actor's goroutine before anything else; leave, which may be nil, runs there at its end.
type EnterFunc func() (leave func(), err error)

// LockThread is an EnterFunc that ties the actor to an OS thread of its own. The thread ends with the actor.
func LockThread() (leave func(), err error) {
	runtime.LockOSThread()
	return nil, nil
}

// Stage is one step of the graph with one actor.
type Stage struct {
	ID       string
	Consumes []Port
	Produces []Port
	Ordering Ordering
	// InFlightPerSession and InFlightGlobal bound the invocations that were given to the actor and are not done, of one session and of
	// all. 0 means 1. The actor works on one at a time; the others wait in its mailbox.
	InFlightPerSession int
	InFlightGlobal     int
	// ResourceGroup names the group whose slots the stage shares, or is empty. It is never guessed from devices.
	ResourceGroup string
	Run           RunFunc
	// Release may be nil for a stage that keeps nothing between invocations.
	Release ReleaseFunc
	// Enter may be nil.
	Enter EnterFunc
}

// Edge carries an artifact to the stage Target, from the stage Source or from External.
type Edge struct {
	Artifact Port
	Source   string
	Target   string
	// CapacityPerSession is how many sequences may lie on the edge, reserved ones included. 0 means 1.
	CapacityPerSession int
}

// Output is an artifact that leaves the graph.
type Output struct {
	Artifact Port
	// CapacityPerSession is how many sequences may wait for Next, reserved ones included. 0 means 1.
	CapacityPerSession int
}

// ResourceGroup bounds how many invocations of all its stages may be in flight at once.
type ResourceGroup struct {
	Name           string
	MaxConcurrency int
}

// Spec describes a graph.
type Spec struct {
	Stages         []Stage
	Edges          []Edge
	Outputs        []Output
	ResourceGroups []ResourceGroup
	// LatencyAnchor is the external artifact whose acceptance starts the control-to-output time, or nil. Others may be pushed ahead of
	// it without starting that clock.
	LatencyAnchor Port
}
