package streaming_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"telefuser/streaming"
)

// world drives seats of one lease with a clock of its own.
type world struct {
	t     *testing.T
	now   time.Time
	lease *streaming.ExecutionLease
	seats []*seat
}

// seat is a session of the model: what it believes of the lease.
type seat struct {
	*streaming.Seat
	grant  <-chan struct{}
	holds  bool
	asked  time.Time
	active time.Time
}

const (
	slice     = 2 * time.Second
	idleAfter = 5 * time.Second
	chunk     = time.Second
)

func newWorld(t *testing.T, seats int) *world {
	w := &world{t: t, now: time.Unix(0, 0)}
	w.lease = streaming.NewExecutionLease(slice, func() time.Time { return w.now })
	for range seats {
		w.seats = append(w.seats, &seat{Seat: w.lease.Sit(idleAfter), active: w.now})
	}
	return w
}

// settle takes the grants and checks that there is one holder at most, and one at least when somebody waits.
func (w *world) settle() *seat {
	w.t.Helper()
	var holder *seat
	waiting := 0
	for _, s := range w.seats {
		if s.grant != nil {
			select {
			case <-s.grant:
				s.holds, s.grant = true, nil
			default:
				waiting++
			}
		}
		if s.holds && holder != nil {
			w.t.Fatal("two hold the model")
		}
		if s.holds {
			holder = s
		}
	}
	if holder == nil && waiting > 0 {
		w.t.Fatalf("%d wait and nobody holds the model", waiting)
	}
	return holder
}

func (w *world) idle(s *seat) bool { return w.now.Sub(s.active) >= idleAfter }

// TestLeaseIsFair drives thousands of random steps and checks after each: one holder, no idle model, a change of hands only at a border or by the holder's own
// wish, and nobody active who waits longer than everybody's slice together.
func TestLeaseIsFair(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, 2+r.IntN(5))
		longest := time.Duration(len(w.seats)) * (slice + chunk)
		for range 600 {
			before := w.settle()
			s := w.seats[r.IntN(len(w.seats))]
			free := false
			switch r.IntN(8) {
			case 0, 1, 2:
				if !s.holds && s.grant == nil {
					s.grant, s.asked = s.Ask(), w.now
				}
			case 3, 4:
				if before != nil { // a chunk is made, and its maker goes on
					w.now = w.now.Add(chunk)
					if free = before.Border(); free {
						before.holds = false
						before.grant, before.asked = before.Ask(), w.now
					}
				}
			case 5:
				s.Touch()
				if w.idle(s) {
					s.asked = w.now // from now on it is active, and its wait counts
				}
				s.active = w.now
			case 6:
				if s.holds || r.IntN(4) == 0 {
					free = s.holds
					s.Yield()
					s.holds, s.grant = false, nil
				}
			case 7:
				if before != nil && r.IntN(20) == 0 { // leaves in the middle and comes back as another
					free = s.holds
					s.Yield()
					*s = seat{Seat: w.lease.Sit(idleAfter), active: w.now}
				}
			}
			after := w.settle()
			if before != nil && after != before && !free {
				t.Fatalf("seed %d: the model changed hands without the holder", seed)
			}
			for i, s := range w.seats {
				if s.grant != nil && !w.idle(s) && w.now.Sub(s.asked) > longest {
					t.Fatalf("seed %d: seat %d waits since %v, longest %v", seed, i, w.now.Sub(s.asked), longest)
				}
			}
		}
	}
}

func TestLeaseGoesToTheActiveBeforeTheIdle(t *testing.T) {
	w := newWorld(t, 3)
	a, b, c := w.seats[0], w.seats[1], w.seats[2]
	a.grant = a.Ask()
	w.settle()
	w.now = w.now.Add(idleAfter)
	b.grant = b.Ask()
	c.Touch()
	c.grant = c.Ask()
	if p, parked := b.Place(); p != 2 || !parked {
		t.Errorf("the idle one is at %d, parked %v", p, parked)
	}
	if p, parked := c.Place(); p != 1 || parked {
		t.Errorf("the active one is at %d, parked %v", p, parked)
	}
	if !a.Border() {
		t.Fatal("an idle holder must make room for an active one")
	}
	a.holds = false
	if w.settle() != c {
		t.Fatal("the active one did not get the model")
	}
	if c.Border() {
		t.Error("an active holder made room for idle ones within its slice")
	}
	b.Touch()
	w.now = w.now.Add(slice)
	if !c.Border() {
		t.Error("an active holder kept the model beyond its slice")
	}
}

func TestLeaseAcquireEndsWithItsContext(t *testing.T) {
	lease := streaming.NewExecutionLease(slice, nil)
	a, b := lease.Sit(0), lease.Sit(0)
	if err := a.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Acquire(t.Context()); err != nil {
		t.Fatal("a holder that asks again", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if err := b.Acquire(ctx); !errors.Is(err, why) {
		t.Fatal(err)
	}
	if p, _ := b.Place(); p != 0 {
		t.Error("one who gave up still waits")
	}
	a.Yield()
	if err := b.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
}
