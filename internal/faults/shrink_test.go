package faults_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

const (
	// shrinkTime bounds the search for a smaller schedule that fails too.
	shrinkTime = 20 * time.Minute
	// shrunkJobsMin is below how many jobs a schedule is not made smaller.
	shrunkJobsMin = 40
)

// shrink looks for a smaller schedule that breaks an invariant too, as long as its time lasts: first with fewer jobs, then with fewer strikes, halves first.
func (s schedule) shrink(t *testing.T) schedule {
	t.Helper()
	began := time.Now()
	fails := func(smaller schedule) bool {
		if time.Since(began) >= shrinkTime {
			return false
		}
		name := fmt.Sprintf("%d strikes among %d jobs", len(smaller.strikes), smaller.jobs)
		wrong := smaller.try(t, name)
		if len(wrong) == 0 {
			return false
		}
		t.Logf("fails with %s too: %v\n%s", name, wrong[0], smaller.command())
		return true
	}
	for s.jobs/4 >= shrunkJobsMin && fails(s.among(s.jobs/4)) {
		s = s.among(s.jobs / 4)
	}
	return s.fewer(fails)
}

// fewer leaves strikes out, by halves, quarters and so on, where the rest still fails.
func (s schedule) fewer(fails func(schedule) bool) schedule {
	for size := (len(s.strikes) + 1) / 2; size >= 1; {
		smaller := false
		for from := 0; from < len(s.strikes) && !smaller && len(s.strikes) > 1; from += size {
			rest := slices.Delete(slices.Clone(s.strikes), from, min(from+size, len(s.strikes)))
			candidate := s
			candidate.strikes = rest
			if len(rest) > 0 && fails(candidate) {
				s, smaller = candidate, true
			}
		}
		if !smaller {
			size /= 2
		}
		size = min(size, (len(s.strikes)+1)/2)
		if len(s.strikes) == 1 {
			return s
		}
	}
	return s
}

// TestFewerFindsTheStrikesThatMatter shrinks schedules whose failure follows from two of their strikes alone.
func TestFewerFindsTheStrikesThatMatter(t *testing.T) {
	for _, want := range [][]int{{3, 11}, {1, 2}, {7, 12}, {5}} {
		tries := 0
		got := newSchedule(7, 100, 12).fewer(func(s schedule) bool {
			tries++
			return !slices.ContainsFunc(want, func(n int) bool { return !slices.Contains(s.numbers(), n) })
		})
		if !slices.Equal(got.numbers(), want) {
			t.Errorf("strikes %v matter, %v were found in %d tries", want, got.numbers(), tries)
		}
	}
	if all := newSchedule(7, 100, 12).fewer(func(schedule) bool { return false }); len(all.strikes) != 12 {
		t.Errorf("%d strikes are left of a failure that does not come again", len(all.strikes))
	}
	if got := newSchedule(7, 100, 12).only([]int{2, 6}).among(50); got.jobs != 50 || !slices.Equal(got.numbers(), []int{2, 6}) || got.strikes[1].at != 6*50/13 {
		t.Errorf("among fewer jobs: %+v", got)
	}
}
