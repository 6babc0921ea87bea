package faults_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// strike is one fault of a schedule.
type strike struct {
	no int
	// at is how many jobs have been accepted when it strikes, what which fault it is, target which process it hits, and lasts how long it does.
	at     int
	what   string
	target int
	lasts  time.Duration
}

// String is one row of the printed schedule.
func (s strike) String() string {
	return fmt.Sprintf("%d: after %d jobs, %s, target %d, %s", s.no, s.at, s.what, s.target, s.lasts)
}

// schedule is everything that a run does, as it follows from a seed.
type schedule struct {
	seed int64
	jobs int
	// drawn is how many strikes the seed gave, strikes are those of them that strike.
	drawn   int
	strikes []strike
}

// newSchedule draws strikes over the whole run.
func newSchedule(seed int64, jobs, strikes int) schedule {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	s := schedule{seed: seed, jobs: jobs, drawn: strikes}
	kinds := strikeKinds()
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	for i := range strikes {
		k := strike{
			no: i + 1, at: (i + 1) * jobs / (strikes + 1), what: names[r.IntN(len(names))], target: r.IntN(2),
			lasts: time.Duration(500+r.IntN(6500)) * time.Millisecond,
		}
		if long := r.IntN(2) == 0; long && slices.Contains(outlasting(), k.what) {
			k.lasts += *lease
		}
		s.strikes = append(s.strikes, k)
	}
	return s
}

// outlasting are the strikes of which half are longer than a lease, so that jobs are taken from workers that live.
func outlasting() []string {
	return []string{"F10 Redis is cut off", "F24 a worker is parted from Redis", "F33 a worker is frozen"}
}

// only leaves the strikes with the numbers.
func (s schedule) only(numbers []int) schedule {
	some := s
	some.strikes = slices.DeleteFunc(slices.Clone(s.strikes), func(k strike) bool { return !slices.Contains(numbers, k.no) })
	return some
}

// numbers are those of the strikes.
func (s schedule) numbers() []int {
	var all []int
	for _, k := range s.strikes {
		all = append(all, k.no)
	}
	return all
}

// among is the same schedule over so many jobs.
func (s schedule) among(jobs int) schedule {
	return newSchedule(s.seed, jobs, s.drawn).only(s.numbers())
}

// command is what repeats the run.
func (s schedule) command() string {
	var numbers []string
	for _, n := range s.numbers() {
		numbers = append(numbers, strconv.Itoa(n))
	}
	return fmt.Sprintf("go test -count=1 -timeout 60m -run 'TestRandomFaults$' ./internal/faults -faults=%s -seed=%d -jobs=%d -strikes=%d -only=%s", *extent, s.seed, s.jobs, s.drawn, strings.Join(numbers, ","))
}

// job is the request with the number, and the outcomes that it may have.
func (s schedule) job(n int, b *bench) (fields, []string) {
	r := rand.New(rand.NewPCG(uint64(s.seed), uint64(n)+1000))
	word := fmt.Sprintf("job %d ", n)
	switch k := r.IntN(100); {
	case k < 70:
		return script(word).with(fields{"num_frames": 5, "seed": n % 128}), nil
	case k < 90:
		return chunked(fmt.Sprintf("%sstep_ms=%d", word, 50+r.IntN(200)), 1+r.IntN(4)), nil
	case k < 94:
		return script(word + "crash@1" + b.once()), []string{"completed", "worker_crashed"} // with two strikes of the schedule on top, it has died three times
	case k < 97:
		return script(word + "fail=internal@1"), []string{"internal_error"}
	default:
		return script(word + "fail=oom@1"), []string{"gpu_out_of_memory"}
	}
}

// strikeKinds are the faults of a schedule. Each is over when its function returns.
func strikeKinds() map[string]func(b *bench, s strike) error {
	return map[string]func(b *bench, s strike) error{
		"F02 an API is killed": func(b *bench, s strike) error { return b.relaunch(b.apis[s.target], s.lasts, true) },
		"F05 a worker is killed": func(b *bench, s strike) error {
			return b.ledger.disrupted(func() error { return b.relaunch(b.workers[s.target], s.lasts, true) })
		},
		"F09 Redis is killed": func(b *bench, s strike) error { b.redis.Kill(); return b.redis.Restart(b.ctx()) },
		"F10 Redis is cut off": func(b *bench, s strike) error {
			return b.through(s, conduct{down: true}, b.nodes(), func(n *node) *link { return n.redis })
		},
		"F15 half of all calls of the store fail": func(b *bench, s strike) error {
			b.gate.set(slowDown(func(n int64) bool { return n%2 == 0 }))
			pause(b.t, s.lasts)
			b.gate.set(nil)
			return nil
		},
		"F15 the store is away": func(b *bench, s strike) error {
			b.s3.Kill()
			pause(b.t, s.lasts)
			return b.s3.Restart(b.ctx())
		},
		"F16 the store of one worker swallows everything": func(b *bench, s strike) error {
			return b.through(s, conduct{silent: true}, b.workers[s.target:s.target+1], func(n *node) *link { return n.s3 })
		},
		"F24 an API is parted from Redis": func(b *bench, s strike) error {
			return b.through(s, conduct{down: true}, b.apis[s.target:s.target+1], func(n *node) *link { return n.redis })
		},
		"F24 a worker is parted from Redis": func(b *bench, s strike) error {
			return b.ledger.disrupted(func() error {
				return b.through(s, conduct{down: true}, b.workers[s.target:s.target+1], func(n *node) *link { return n.redis })
			})
		},
		"F33 a worker is frozen": func(b *bench, s strike) error {
			return b.ledger.disrupted(func() error {
				w := b.workers[s.target]
				w.freeze(b.t)
				pause(b.t, s.lasts)
				w.thaw(b.t)
				return nil
			})
		},
		"F34 an API is stopped":   func(b *bench, s strike) error { return b.relaunch(b.apis[s.target], 0, false) },
		"F34 a worker is stopped": func(b *bench, s strike) error { return b.relaunch(b.workers[s.target], 0, false) },
	}
}

// relaunch ends a process, waits and starts it again; one that the chaos has ended already is only started.
func (b *bench) relaunch(n *node, away time.Duration, hard bool) error {
	if hard {
		n.kill()
	} else if _, err := n.stop(); err != nil {
		return err
	}
	pause(b.t, away)
	p, err := launch(n.name, b.opts.program, n.args, n.env, b.dir, n.log)
	if err != nil {
		return err
	}
	n.process = p
	return nil
}

// through makes cables of some nodes behave badly for as long as a strike lasts.
func (b *bench) through(s strike, c conduct, nodes []*node, cable func(*node) *link) error {
	for _, n := range nodes {
		cable(n).set(c)
	}
	pause(b.t, s.lasts)
	for _, n := range nodes {
		cable(n).heal()
	}
	return nil
}
