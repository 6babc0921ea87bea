package faults_test

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// creators send jobs at once; outstandingMax is how many may wait, so that every strike meets the run.
	creators       = 8
	outstandingMax = 60
	// encodedMax is how many videos are encoded by ffmpeg; a longer run has the stand-in.
	encodedMax = 200
)

// extents are the jobs and strikes of a run.
func sizes() (jobs, strikes int) {
	jobs, strikes = 40, 3
	switch {
	case atLeast(extentLong):
		jobs, strikes = 10_000, 60
	case atLeast(extentFull):
		jobs, strikes = 200, 12
	}
	if *jobsFlag > 0 {
		jobs = *jobsFlag
	}
	if *strikesFlag > 0 {
		strikes = *strikesFlag
	}
	return jobs, strikes
}

// TestRandomFaults lets a random schedule of faults loose on a stream of jobs. The seed is printed, and the same seed gives the same schedule. Where an invariant does
// not hold, a long run looks for the fewest strikes that break it too.
func TestRandomFaults(t *testing.T) {
	t.Parallel()
	jobs, strikes := sizes()
	plan := newSchedule(chosenSeed(), jobs, strikes)
	if *onlyFlag != "" {
		plan = plan.only(numbers(t, *onlyFlag))
	}
	t.Logf("seed %d: %s", plan.seed, plan.command())
	for _, s := range plan.strikes {
		t.Log(s)
	}
	wrong := plan.try(t, "all faults")
	if len(wrong) == 0 {
		return
	}
	for _, w := range wrong {
		t.Error(w)
	}
	if atLeast(extentLong) || *shrinkFlag {
		plan = plan.shrink(t)
	}
	t.Errorf("to repeat it: %s", plan.command())
}

func numbers(t *testing.T, list string) []int {
	t.Helper()
	var all []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("-only: %v", err)
		}
		all = append(all, n)
	}
	return all
}

// try is run in a sub-test, so that its bench goes before the next one comes.
func (s schedule) try(t *testing.T, name string) []finding {
	t.Helper()
	var wrong []finding
	t.Run(name, func(t *testing.T) { wrong = s.run(t) })
	return wrong
}

// run breaks a fresh bench as planned and answers what was wrong in the end.
func (s schedule) run(t *testing.T) []finding {
	t.Helper()
	o := options{workerArgs: []string{"--stall-timeout", "20s"}}
	if s.jobs > encodedMax {
		o.replicas = 8
		o.workerArgs = append(o.workerArgs, "--ffmpeg", standIn(t))
	}
	b := startBench(t, o)
	started := time.Now()
	accepted := b.load(s)
	took := time.Since(started)
	b.work(t)
	wrong := b.problems(atLeast(extentFull))
	t.Logf("measured: %d jobs, %d strikes in %s\n%s", accepted, len(s.strikes), took.Round(time.Second), b.figures(s, wrong))
	return wrong
}

// load sends the jobs of a schedule while its faults strike, and answers how many were accepted.
func (b *bench) load(s schedule) int64 {
	var next, accepted atomic.Int64
	var group sync.WaitGroup
	for range creators {
		group.Go(func() {
			for n := next.Add(1); n <= int64(s.jobs); n = next.Add(1) {
				holdsWithin(jobTimeout, func() bool { return b.ledger.waiting() < outstandingMax })
				f, want := s.job(int(n), b)
				st, err := b.tryCreate(f, want...)
				if err != nil {
					b.ledger.objection("job %d: %v", n, err)
					continue
				}
				if strings.Contains(st.words, "@") {
					b.ledger.allow(st, 5)
				}
				accepted.Add(1)
			}
		})
	}
	kinds := strikeKinds()
	for _, k := range s.strikes {
		holdsWithin(time.Hour, func() bool { return accepted.Load() >= int64(k.at) })
		if err := kinds[k.what](b, k); err != nil {
			b.ledger.objection("strike %v: %v", k, err)
		}
	}
	group.Wait()
	return accepted.Load()
}

// allow lets a job have so many more runs that are its own fault.
func (l *ledger) allow(s *story, runs int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.runsMax += runs
}
