package faults_test

import (
	"fmt"
	"slices"
	"strings"
)

// figures is a table of a random run: what struck, how the jobs ended, how many attempts they took, and what was wrong.
func (b *bench) figures(s schedule, wrong []finding) string {
	var out strings.Builder
	row := func(what string, n int) { fmt.Fprintf(&out, "| %s | %d |\n", what, n) }
	fmt.Fprintf(&out, "| seed %d | |\n|---|---|\n", s.seed)
	struck := map[string]int{}
	for _, k := range s.strikes {
		struck[k.what]++
	}
	row("faults", len(s.strikes))
	for _, what := range sortedKeys(struck) {
		row("- "+what, struck[what])
	}
	outcomes, attempts, extra := map[string]int{}, map[int]int{}, 0
	begun, committed := 0, 0
	courses := b.courses()
	all := b.ledger.all()
	for _, one := range all {
		if one.end != nil {
			outcomes[one.end.outcome()]++
		}
		c := courses[one.id]
		if c == nil {
			continue
		}
		attempts[len(c.begun)]++
		extra += max(0, len(c.begun)-1)
		begun += len(c.begun)
		committed += len(c.committed)
	}
	row("jobs", len(all))
	for _, outcome := range sortedKeys(outcomes) {
		row("- "+outcome, outcomes[outcome])
	}
	row("engine starts", begun)
	for n := range 8 {
		if attempts[n] > 0 {
			row(fmt.Sprintf("- jobs with %d", n), attempts[n])
		}
	}
	row("- more than one for a job", extra)
	row("commits", committed)
	found := map[string]int{}
	for _, f := range wrong {
		found[f.kind]++
	}
	for _, kind := range findingKinds {
		row(kind, found[kind])
	}
	return out.String()
}

func sortedKeys(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
