package stage

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Health is the state of a stage's actor.
type Health int32

const (
	// HealthClosed is an actor that has not begun or has ended as asked.
	HealthClosed Health = iota
	// HealthRunning is an actor that takes work.
	HealthRunning
	// HealthFailed is an actor that ended by itself.
	HealthFailed
)

// String is the state's word.
func (h Health) String() string {
	return [...]string{"closed", "running", "failed"}[h]
}

// task is one invocation or one release.
type task struct {
	invocation *invocation
	release    *Session
}

// actor owns one stage: all that the stage does is done on its one goroutine. Only the scheduler sends, under its lock, and only into
// free places of the mailbox, so that it never blocks.
type actor struct {
	stage   *Stage
	index   int
	mailbox chan task // as many places as invocations may be in flight
	health  atomic.Int32
}

func newActor(index int, s *Stage) *actor {
	return &actor{stage: s, index: index, mailbox: make(chan task, s.InFlightGlobal)}
}

func (a *actor) Health() Health { return Health(a.health.Load()) }

// busy says whether the mailbox is full.
func (a *actor) busy() bool { return len(a.mailbox) == cap(a.mailbox) }

// run works until the mailbox is closed or the stage cannot go on. The scheduler hears of the end in either case, and of the task that
// was under way when a stage's function ended the goroutine.
func (a *actor) run(s *Scheduler) {
	var current task
	death := fmt.Errorf("stage: %s ended its goroutine", a.stage.ID)
	defer func() { s.actorEnded(a, current, death) }()
	var leave func()
	if err := guard(func() (err error) { leave, err = a.enter(); return err }); err != nil {
		death = err
		return
	}
	a.health.Store(int32(HealthRunning))
	if leave != nil {
		defer func() {
			if err := guard(func() error { leave(); return nil }); err != nil {
				death = err
			}
		}()
	}
	for t := range a.mailbox {
		current = t
		fatal, err := a.do(s, t)
		current = task{}
		if fatal {
			death = err
			return
		}
	}
	death = nil
}

func (a *actor) enter() (func(), error) {
	if a.stage.Enter == nil {
		return nil, nil
	}
	return a.stage.Enter()
}

// do does one task and says whether it was the last that the actor can do.
func (a *actor) do(s *Scheduler, t task) (fatal bool, err error) {
	if t.release != nil {
		ctx, cancel := context.WithTimeout(context.Background(), s.cfg.DrainTimeout)
		defer cancel()
		fatal, err = settle(guard(func() error { return a.stage.Release(ctx, t.release.key) }))
		s.released(t.release, a.index, err)
		return fatal, err
	}
	var out Values
	fatal, err = settle(guard(func() (err error) {
		ctx := t.invocation.session.ctx
		if ctx.Err() != nil { // stopped while it lay in the mailbox
			return context.Cause(ctx)
		}
		t.invocation.begun = true
		out, err = a.stage.Run(ctx, t.invocation.Invocation)
		return err
	}))
	s.finished(t.invocation, out, err, time.Now())
	return fatal, err
}

// guard turns a panic into an error: it fails one session, not the process.
func guard(fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}
