package stage_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"telefuser/workers/stage"
)

// faults are how often, in one of so many invocations, something goes wrong; 0 is never.
type faults struct {
	fail, panics, short, fatal uint64 // invocations
	stubborn                   uint64 // invocations that outlast the drain timeout and do not look at their context
	release                    uint64 // releases that fail
}

const drainTimeout = 5 * time.Second

// world is what the stages of one run do, and the judge of the order in which they are asked to.
type world struct {
	seed  uint64
	graph *shape
	faults

	mu       sync.Mutex
	broken   []string
	working  map[string]int               // stage -> calls now: never above one
	group    int                          // calls now in the resource group
	ran      map[string]map[int64]bool    // "session/epoch/stage" -> sequences
	next     map[string]int64             // the same -> strict frontier
	released map[stage.SessionKey][]int   // stages in the order of their release
	live     map[string]map[[2]string]int // "session/epoch" -> edge -> values on it
	hurt     map[stage.SessionKey]bool    // a fault was dealt to it
	poisoned map[stage.SessionKey]bool    // a fault was dealt to its clean-up
	dead     bool
}

func newWorld(seed uint64, g *shape, f faults) *world {
	w := &world{seed: seed, graph: g, faults: f, working: map[string]int{}, ran: map[string]map[int64]bool{}, next: map[string]int64{},
		released: map[stage.SessionKey][]int{}, live: map[string]map[[2]string]int{}, hurt: map[stage.SessionKey]bool{}, poisoned: map[stage.SessionKey]bool{}}
	for i := range g.spec.Stages {
		s := &g.spec.Stages[i]
		s.Run = func(ctx context.Context, in stage.Invocation) (stage.Values, error) { return w.run(ctx, i, in) }
		s.Release = func(_ context.Context, key stage.SessionKey) error { return w.release(i, key) }
	}
	return w
}

func (w *world) wrong(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// dice is the same for the same question of the same run, whatever the interleaving.
func (w *world) dice(n uint64, question ...any) bool {
	return n > 0 && mix(append(question, w.seed)...)%n == 0
}

func (w *world) run(ctx context.Context, i int, in stage.Invocation) (stage.Values, error) {
	w.enter(i, in)
	defer w.leave(i)
	nap := time.Duration(mix("nap", w.seed, in.SessionKey, in.Sequence, i)%6) * time.Millisecond
	if w.fault(&w.poisoned, w.stubborn, "stubborn", in) {
		nap = 4 * drainTimeout
	}
	select {
	case <-time.After(nap):
	case <-w.patience(ctx, in.Key, nap):
		return nil, context.Cause(ctx)
	}
	switch {
	case w.fault(&w.hurt, w.fail, "fail", in):
		return nil, errStage
	case w.fault(&w.hurt, w.panics, "panic", in):
		panic("a fault of the model")
	case w.fault(&w.hurt, w.short, "short", in):
		return stage.Values{}, nil
	case w.fault(&w.hurt, w.fatal, "fatal", in):
		w.mu.Lock()
		w.dead = true
		w.mu.Unlock()
		return nil, stage.Fatal(errStage)
	}
	return w.product(i, in), nil
}

// patience is the context's end for calls that look at it: about half of them.
func (w *world) patience(ctx context.Context, key stage.Key, nap time.Duration) <-chan struct{} {
	if nap > drainTimeout || mix("patience", w.seed, key.SessionKey, key.Sequence)%2 == 0 {
		return nil
	}
	return ctx.Done()
}

func (w *world) fault(mark *map[stage.SessionKey]bool, n uint64, name string, in stage.Invocation) bool {
	if !w.dice(n, name, in.SessionKey, in.Sequence, in.Stage) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	(*mark)[in.SessionKey] = true
	return true
}

// enter judges the invocation.
func (w *world) enter(i int, in stage.Invocation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.graph.spec.Stages[i]
	w.busy(i, 1)
	at := fmt.Sprint(in.SessionKey, "/", in.Stage)
	if w.ran[at] == nil {
		w.ran[at] = map[int64]bool{}
	}
	if w.ran[at][in.Sequence] {
		w.wrong("%v ran twice", in.Key)
	}
	if s.Ordering == stage.Strict && in.Sequence != w.next[at] {
		w.wrong("%v ran when %d was next", in.Key, w.next[at])
	}
	w.ran[at][in.Sequence], w.next[at] = true, in.Sequence+1
	if len(w.released[in.SessionKey]) > 0 {
		w.wrong("%v ran after a release", in.Key)
	}
	for _, p := range w.graph.inputs[i] {
		got, ok := p.From(in.Inputs)
		if want := w.graph.want(in.SessionKey, in.Sequence, p); !ok || got != want {
			w.wrong("%v was given %+v as %s, not %+v", in.Key, got, p.Name(), want)
		}
		if _, made := w.graph.maker[p.Name()]; made {
			w.move(in.SessionKey, [2]string{p.Name(), s.ID}, -1, 0)
		}
	}
	if len(in.Inputs) != len(w.graph.inputs[i]) {
		w.wrong("%v was given %d inputs", in.Key, len(in.Inputs))
	}
}

func (w *world) leave(i int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy(i, -1)
}

// busy holds the actor to one call at a time, and the group to its bound.
func (w *world) busy(i, change int) {
	s := w.graph.spec.Stages[i]
	if w.working[s.ID] += change; w.working[s.ID] > 1 {
		w.wrong("%s does two things at once", s.ID)
	}
	if s.ResourceGroup != "" {
		if w.group += change; w.group > w.graph.spec.ResourceGroups[0].MaxConcurrency {
			w.wrong("%d calls in the resource group", w.group)
		}
	}
}

// move counts the values on an edge. A consumer takes its inputs before it is seen here, hence the slack.
func (w *world) move(key stage.SessionKey, edge [2]string, change, slack int) {
	at := fmt.Sprint(key)
	if w.live[at] == nil {
		w.live[at] = map[[2]string]int{}
	}
	w.live[at][edge] += change
	if n := w.live[at][edge]; n > w.graph.capacity[edge]+slack {
		w.wrong("%v holds %d values on %v", key, n, edge)
	}
}

func (w *world) product(i int, in stage.Invocation) stage.Values {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out stage.Values
	for _, p := range w.graph.products[i] {
		out = append(out, p.Of(w.graph.want(in.SessionKey, in.Sequence, p)))
		for _, s := range w.graph.spec.Stages {
			if slices.Contains(s.Consumes, stage.Port(p)) {
				w.move(in.SessionKey, [2]string{p.Name(), s.ID}, 1, s.InFlightPerSession)
			}
		}
		if slices.Contains(w.graph.outputs, p) {
			w.move(in.SessionKey, [2]string{p.Name(), ""}, 1, 1)
		}
	}
	slices.Reverse(out) // in which order they are given is the stage's affair
	return out
}

func (w *world) release(i int, key stage.SessionKey) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busyRelease(i, key)
	w.released[key] = append(w.released[key], i)
	if w.dice(w.faults.release, "release", key, i) {
		w.poisoned[key] = true
		return errStage
	}
	return nil
}

// busyRelease judges a release: on a free actor, once, for a session that the stage has worked for, after all later stages. The model's stages
// are numbered in a topological order, which need not be the graph's: only stages that depend on each other are compared.
func (w *world) busyRelease(i int, key stage.SessionKey) {
	s := w.graph.spec.Stages[i]
	if w.working[s.ID] > 0 {
		w.wrong("%s releases %v while it works", s.ID, key)
	}
	if len(w.ran[fmt.Sprint(key, "/", s.ID)]) == 0 {
		w.wrong("%s releases %v, which it never saw", s.ID, key)
	}
	for _, before := range w.released[key] {
		if before == i {
			w.wrong("%s releases %v twice", s.ID, key)
		}
		if w.dependsOn(i, before) {
			w.wrong("%s releases %v after s%d, which comes before it", s.ID, key, before)
		}
	}
}

// dependsOn says whether stage i consumes, directly or not, what stage before makes.
func (w *world) dependsOn(i, before int) bool {
	for _, p := range w.graph.inputs[i] {
		if j, made := w.graph.maker[p.Name()]; made && (j == before || w.dependsOn(j, before)) {
			return true
		}
	}
	return false
}
