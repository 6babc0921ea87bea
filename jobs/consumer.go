package jobs

import (
	"context"
	"time"
)

// ConsumerConfig says what a consumer takes and how many at once.
type ConsumerConfig struct {
	// Pipeline is the one whose jobs are taken.
	Pipeline string
	// Owner names the worker in records and logs, unique among all live workers.
	Owner string
	// Slots is the number of runs at once: 1.
	Slots int
	// DrainTimeout is how long running jobs may go on after the context of Run ended: 30 s. Zero means the default, negative means not at all.
	DrainTimeout time.Duration
	// StopTimeout is how long a run may take to return once its context ended: 10 s.
	StopTimeout time.Duration
	// TicketCheckInterval is the pause between two looks at an empty queue: 10 ms.
	TicketCheckInterval time.Duration
}

// RunFunc does one attempt. It settles the claim with exactly one of Complete, Fail and Requeue and then returns; its slot is taken until it returns, so a
// worker that mends its engine first just returns later. It stops soon after ctx ends; context.Cause says why: ErrCancelled, ErrLeaseLost, ErrDraining, or what
// Claim.Stop was given. An attempt that is not settled on return is handed back: uncharged when draining, else as a crash.
type RunFunc func(ctx context.Context, claim *Claim)
