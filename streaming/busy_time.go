package streaming

import "time"

// busyTime sums the time at work over the last seconds.
type busyTime struct {
	began  time.Time // the first work ever
	since  time.Time // zero while idle
	spells []spell
}

// spell is one stretch of work.
type spell struct{ from, to time.Time }

// spellsMax bounds the stretches kept; a model makes less than a hundred chunks a second.
const spellsMax = 100 * rateSeconds

func (b *busyTime) begin(now time.Time) {
	if b.began.IsZero() {
		b.began = now
	}
	b.since = now
}

func (b *busyTime) end(now time.Time) {
	if b.since.IsZero() {
		return
	}
	first := now.Add(-rateSeconds * time.Second)
	old := 0
	for old < len(b.spells) && (b.spells[old].to.Before(first) || len(b.spells)-old >= spellsMax) {
		old++
	}
	b.spells = append(append(b.spells[:0], b.spells[old:]...), spell{b.since, now})
	b.since = time.Time{}
}

// ratio is the share of the last seconds, or of the time since the first work.
func (b *busyTime) ratio(now time.Time) float64 {
	if b.began.IsZero() {
		return 0
	}
	first := latestOf(b.began, now.Add(-rateSeconds*time.Second))
	var sum time.Duration
	add := func(from, to time.Time) { sum += max(0, to.Sub(latestOf(from, first))) }
	for _, s := range b.spells {
		add(s.from, s.to)
	}
	if !b.since.IsZero() {
		add(b.since, now)
	}
	if !now.After(first) {
		return 0
	}
	return min(1, sum.Seconds()/now.Sub(first).Seconds())
}
