package jobs

import (
	"context"
	"time"
)

// pulses renews the leases of all running claims every RenewEvery, and writes progress at most every ProgressEvery, each in one call for all of them. An unreachable Redis
// stops no run: leases are renewed when it is back, and the reaper gives them time for that.
func (c *Consumer) pulses(ctx context.Context) {
	ticker := time.NewTicker(c.store.cfg.ProgressEvery)
	defer ticker.Stop()
	var renewed time.Time
	failing := false
	for {
		kicked := false
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-c.kick:
			kicked = true
		}
		all := kicked || time.Since(renewed) >= c.store.cfg.RenewEvery
		err := c.pulse(ctx, all)
		switch {
		case err == nil && all:
			renewed = time.Now()
			failing = false
		case err != nil && ctx.Err() == nil && !failing:
			failing = true
			c.log.WarnContext(ctx, "leases not renewed; runs go on", "error", err)
		}
	}
}

// beat is what one claim says in a pulse.
type beat struct {
	claim    *Claim
	progress int
	phase    string
	dirty    bool
}

// pulse makes one call for the claims with news, or for all of them.
func (c *Consumer) pulse(ctx context.Context, all bool) error {
	var beats []beat
	args := []any{ms(c.store.cfg.LeaseTTL), c.cfg.Pipeline, CodeCancelled}
	for _, claim := range c.running() {
		if b, ok := claim.beat(all); ok {
			beats = append(beats, b)
			args = append(args, claim.ID, claim.Attempt, b.progress, b.phase)
		}
	}
	if len(beats) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.store.cfg.LeaseTTL)
	defer cancel()
	answer, err := c.store.evalList(ctx, "pulse", args...)
	if err != nil {
		c.store.metrics.renewErrors.Inc()
		for _, b := range beats {
			b.claim.unbeat(b)
		}
		return err
	}
	for i, b := range beats {
		switch word(answer, i) {
		case "cancelled":
			b.claim.lost(ErrCancelled)
		case "lost":
			b.claim.lost(ErrLeaseLost)
		}
	}
	return nil
}

// beat takes the claim's news; false when it has none and only news are wanted, or when it is settled.
func (c *Claim) beat(all bool) (beat, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled || (!all && !c.dirty) {
		return beat{}, false
	}
	b := beat{claim: c, progress: -1, dirty: c.dirty}
	if c.dirty {
		b.progress, b.phase = c.progress, c.phase
	}
	c.dirty = false
	return b, true
}

// unbeat gives news back that could not be written.
func (c *Claim) unbeat(b beat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirty = c.dirty || b.dirty
}
