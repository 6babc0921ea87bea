package webhooks

import (
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/internal/outbound"
)

// Config shapes a sender. Zero values take the defaults that are stated.
type Config struct {
	// Schedule is the pause before each attempt, the first included: at once, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, so ten attempts in 75 hours.
	Schedule []time.Duration
	// RestMax is how long an endpoint rests at most after it has failed several times in a row: 1 min.
	RestMax time.Duration
	// Slots is how many deliveries this process has under way at most: 128.
	Slots int
	// Lease is how long a delivery is this sender's, more than one call can take: 30 s.
	Lease time.Duration
	// AllowHTTP takes addresses of http:// too; the events are signed, but everybody on the way can read them.
	AllowHTTP bool
	// Grace is how long deliveries under way may take to end when Run has to: 5 s. What has not ended by then is sent again by somebody else.
	Grace time.Duration
	// SweepEvery is the pause between two looks for deliveries of endpoints that are gone: 5 s.
	SweepEvery time.Duration
	// Metrics takes the counters; nil takes none. Log takes a line for each failed attempt; nil discards.
	Metrics prometheus.Registerer
	Log     *slog.Logger
}

// schedule is the one that Standard Webhooks recommends.
func schedule() []time.Duration {
	return []time.Duration{0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}
}

func (c Config) withDefaults() Config {
	if len(c.Schedule) == 0 {
		c.Schedule = schedule()
	}
	if c.Slots == 0 {
		c.Slots = 128
	}
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&c.RestMax, time.Minute)
	set(&c.Lease, 30*time.Second)
	set(&c.Grace, 5*time.Second)
	set(&c.SweepEvery, 5*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate answers what is wrong with the configuration.
func (c Config) Validate() error {
	c = c.withDefaults()
	for _, pause := range c.Schedule {
		if pause < 0 {
			return errors.New("webhooks: config: Schedule has a negative pause")
		}
	}
	if c.Slots < 1 || c.RestMax < 0 || c.Lease < 0 || c.Grace < 0 || c.SweepEvery < 0 {
		return errors.New("webhooks: config: Slots must be at least 1, and RestMax, Lease, Grace and SweepEvery not negative")
	}
	return nil
}

func (c Config) schemes() []string {
	if c.AllowHTTP {
		return outbound.Web()
	}
	return outbound.HTTPS()
}
