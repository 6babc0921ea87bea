package stage_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"telefuser/workers/stage"
)

var (
	modelSeed = flag.Uint64("stage.seed", 0, "seed of the first random run; 0 takes one from the clock")
	modelRuns = flag.Int("stage.runs", 2000, "number of random runs")
)

// TestModel runs random graphs with random sessions and faults and holds every call and every output to a model. A bubble's clock makes
// the interleavings cheap, and a run in which nothing moves any more panics as a deadlock.
func TestModel(t *testing.T) {
	seed := *modelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%d runs from -stage.seed=%d", *modelRuns, seed)
	for i := range uint64(*modelRuns) {
		synctest.Test(t, func(t *testing.T) { modelRun(t, seed+i) })
		if t.Failed() {
			t.Fatalf("repeat with -stage.seed=%d -stage.runs=1", seed+i)
		}
	}
}

func modelRun(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(seed, randomShape(rng), [...]faults{
		{}, {fail: 40}, {panics: 40, short: 40}, {stubborn: 60}, {release: 8, fail: 60}, {fatal: 80}, {fail: 60, stubborn: 90, fatal: 200, release: 20},
	}[rng.IntN(7)])
	s, stop := start(t, w.graph.spec, stage.Config{DrainTimeout: drainTimeout, SessionsMax: 8})
	var users sync.WaitGroup
	var mu sync.Mutex
	poisoned := int64(0)
	for i := range 1 + rng.IntN(4) {
		u := &user{world: w, sched: s, id: fmt.Sprint("u", i), rng: rand.New(rand.NewPCG(seed, uint64(i)+1))}
		users.Go(func() {
			u.live()
			mu.Lock()
			defer mu.Unlock()
			poisoned += u.poisoned
		})
	}
	users.Wait()
	err := stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(err, stage.ErrActorDead) != w.dead || (err == nil) == w.dead {
		w.wrong("run ended with %v, dead is %v", err, w.dead)
	}
	d := s.Diagnostics()
	if d.StaleEpochResults+d.DuplicateResults != 0 || d.CleanupFailures != poisoned {
		w.wrong("diagnostics %+v with %d poisoned", d, poisoned)
	}
	if (d.SlotLeaks > 0 || d.OrphanedResults > 0) && w.stubborn == 0 {
		w.wrong("diagnostics %+v though no call was stubborn", d)
	}
	for _, line := range w.broken {
		t.Errorf("seed %d: %s", seed, line)
	}
}

// user opens sessions of one name, one after the other.
type user struct {
	world    *world
	sched    *stage.Scheduler
	id       string
	rng      *rand.Rand
	poisoned int64
}

func (u *user) wrong(format string, args ...any) {
	u.world.mu.Lock()
	defer u.world.mu.Unlock()
	u.world.wrong(format, args...)
}

func (u *user) nap() { time.Sleep(time.Duration(u.rng.IntN(20)) * time.Millisecond) }

func (u *user) live() {
	for epoch := range int64(1 + u.rng.IntN(3)) {
		u.nap()
		x, err := u.sched.Open(u.id, epoch)
		switch {
		case errors.Is(err, stage.ErrActorDead) && u.world.isDead(), errors.Is(err, stage.ErrPoisoned) && u.poisoned > 0:
			return
		case err != nil:
			u.wrong("open %s %d: %v", u.id, epoch, err)
			return
		}
		u.session(x)
	}
}

func (w *world) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// session lives one session with a plan: how many sequences, whether the end is told, how many outputs are read, whether it is cancelled.
func (u *user) session(x *stage.Session) {
	count := int64(u.rng.IntN(9))
	read, cancelled := count, u.rng.IntN(4) == 0
	told := u.rng.IntN(5) > 0
	if u.rng.IntN(4) == 0 {
		read = int64(u.rng.IntN(int(count) + 1))
	}
	var wg sync.WaitGroup
	finish := make(chan struct{})
	wg.Go(func() {
		defer close(finish)
		time.Sleep(time.Duration(count) * time.Millisecond)
		if told {
			_ = x.FinishInputs(count) // fails if the session has stopped, as its reader learns
		}
	})
	for k, group := range u.groups() {
		p := &pusher{user: u, session: x, artifacts: group, finish: finish, told: told, rng: rand.New(rand.NewPCG(u.rng.Uint64(), uint64(k)))}
		wg.Go(func() { p.push(count) })
	}
	if cancelled {
		delay := time.Duration(u.rng.IntN(60)) * time.Millisecond
		wg.Go(func() {
			time.Sleep(delay)
			x.Cancel(nil)
		})
	}
	got, err := u.read(x, read)
	u.judge(x, got, err, count, read, told, cancelled)
	err = x.Close(context.Background())
	u.judgeClose(x, err)
	wg.Wait()
}

// groups splits the external artifacts into what is pushed together.
func (u *user) groups() [][]tokenPort {
	if u.rng.IntN(2) == 0 {
		return [][]tokenPort{u.world.graph.externals}
	}
	var groups [][]tokenPort
	for _, p := range u.world.graph.externals {
		groups = append(groups, []tokenPort{p})
	}
	return groups
}

// read takes up to n outputs and holds them to the model.
func (u *user) read(x *stage.Session, n int64) (int64, error) {
	g := u.world.graph
	for seq := range n {
		c, err := x.Next(context.Background())
		if err != nil {
			return seq, err
		}
		u.world.mu.Lock()
		if c.Sequence != seq || len(c.Values) != len(g.outputs) {
			u.world.wrong("%v: output %d with %d artifacts came as number %d", x.Key(), c.Sequence, len(c.Values), seq)
		}
		for _, p := range g.outputs {
			got, ok := p.From(c.Values)
			if want := g.want(x.Key(), seq, p); !ok || got != want {
				u.world.wrong("%v: output %d is %+v, not %+v", x.Key(), seq, got, want)
			}
			u.world.move(x.Key(), [2]string{p.Name(), ""}, -1, 0)
		}
		u.world.mu.Unlock()
		u.nap()
	}
	return n, nil
}

// judge says whether a session may have ended like this.
func (u *user) judge(x *stage.Session, got int64, err error, count, read int64, told, cancelled bool) {
	u.world.mu.Lock()
	hurt := u.world.hurt[x.Key()] || u.world.dead || cancelled
	u.world.mu.Unlock()
	switch {
	case err == nil && got != read, err != nil && !hurt:
		u.wrong("%v: %d of %d outputs, then %v", x.Key(), got, read, err)
	case err == nil && told && read == count && !cancelled:
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		if _, err := x.Next(ctx); !errors.Is(err, io.EOF) && !u.world.isDead() {
			u.wrong("%v: no end after all %d outputs: %v", x.Key(), count, err)
		}
		u.judgeWork(x, count)
	}
}

// judgeWork wants every sequence of a complete session to have been through every stage; that none was twice is judged as they run.
func (u *user) judgeWork(x *stage.Session, count int64) {
	u.world.mu.Lock()
	defer u.world.mu.Unlock()
	for _, s := range u.world.graph.spec.Stages {
		if n := len(u.world.ran[fmt.Sprint(x.Key(), "/", s.ID)]); int64(n) != count {
			u.world.wrong("%v: %s did %d of %d", x.Key(), s.ID, n, count)
		}
	}
}

func (u *user) judgeClose(x *stage.Session, err error) {
	u.world.mu.Lock()
	defer u.world.mu.Unlock()
	// A stubborn call of another session can hold up this one's release.
	excused := u.world.poisoned[x.Key()] || u.world.dead || u.world.stubborn > 0
	switch {
	case errors.Is(err, stage.ErrPoisoned):
		u.poisoned++
		if !excused || errors.Is(err, stage.ErrSlotLeak) {
			u.world.wrong("%v: close: %v", x.Key(), err)
		}
	case err != nil:
		u.world.wrong("%v: close: %v", x.Key(), err)
	}
}
