package stage

import "context"

// SessionKey names one term of a session. The epoch rises when a session of the same name is opened again.
type SessionKey struct {
	Session string `json:"session"`
	Epoch   int64  `json:"epoch"`
}

// Key names one piece of work. No two are the same in a scheduler's life.
type Key struct {
	SessionKey
	Sequence int64  `json:"sequence"`
	Stage    string `json:"stage"`
	// ID is the invocation's number, unique in the scheduler.
	ID uint64 `json:"id"`
}

// Invocation is what a stage is asked to do.
type Invocation struct {
	Key
	// Final says that no later sequence of the session will come.
	Final bool
	// Inputs holds every artifact that the stage consumes.
	Inputs Values
}

// Map makes a RunFunc of a typed function from one artifact to another.
func Map[I, O any](in Artifact[I], out Artifact[O], fn func(context.Context, Invocation, I) (O, error)) RunFunc {
	return func(ctx context.Context, inv Invocation) (Values, error) {
		i, ok := in.From(inv.Inputs)
		if !ok {
			return nil, &ArtifactError{Artifact: in.name, Fault: "not among the stage's inputs"}
		}
		o, err := fn(ctx, inv, i)
		if err != nil {
			return nil, err
		}
		return Values{out.Of(o)}, nil
	}
}

// Join makes a RunFunc of a typed function from two artifacts to one.
func Join[I, J, O any](in Artifact[I], with Artifact[J], out Artifact[O], fn func(context.Context, Invocation, I, J) (O, error)) RunFunc {
	return func(ctx context.Context, inv Invocation) (Values, error) {
		j, ok := with.From(inv.Inputs)
		if !ok {
			return nil, &ArtifactError{Artifact: with.name, Fault: "not among the stage's inputs"}
		}
		return Map(in, out, func(ctx context.Context, inv Invocation, i I) (O, error) { return fn(ctx, inv, i, j) })(ctx, inv)
	}
}
