package streaming

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Config holds the limits of the store. A zero value takes the default in its comment.
type Config struct {
	// Prefix begins every key of ours, so that deployments can share a database: "tf".
	Prefix string
	// LeaseTTL is how long a claim is trusted without renewal, and how long an assigned session waits to be claimed: 6 s.
	LeaseTTL time.Duration
	// RenewEvery is the pause between heartbeats, which renew the leases: 2 s.
	RenewEvery time.Duration
	// WorkerTTL is how long a worker counts as up after its last heartbeat: 6 s.
	WorkerTTL time.Duration
	// ReapEvery is the pause between two rounds of the reaper: 1 s.
	ReapEvery time.Duration
	// QueueMax is the number of waiting sessions of a pipeline at which Create answers ErrQueueFull: 100. Below 0 there is no queue.
	QueueMax int
	// SessionsPerTenantMax is the number of a tenant's sessions that have not ended at which Create answers ErrTenantLimit: 100.
	SessionsPerTenantMax int
	// SessionTimeout ends a session so long after its first claim when its spec says nothing else: 1 h.
	SessionTimeout time.Duration
	// QueueTimeout ends a session that waited so long: 10 min.
	QueueTimeout time.Duration
	// ReassignTimeout ends a session that found no other owner so long after its last one was heard of, so that nobody looks at a still picture for ever: 15 s.
	ReassignTimeout time.Duration
	// ControllerTimeout ends a session whose controller is absent for so long: 60 s.
	ControllerTimeout time.Duration
	// RoomEmptyTimeout ends a session whose room was joined and is empty for so long: 30 s.
	RoomEmptyTimeout time.Duration
	// ReturnTimeout ends a session sooner than RoomEmptyTimeout where the media server forgot its room and nobody came back into the new one: 10 s.
	ReturnTimeout time.Duration
	// ControlIdleMax ends a session without a message of its controller for so long: 10 min. Lossless sessions, which need no controls, are exempt.
	ControlIdleMax time.Duration
	// RetentionTTL is how long the record of an ended session is kept: 1 h.
	RetentionTTL time.Duration
	// PipelineTTL is how long after its last heartbeat a pipeline still takes sessions into its queue, so that its workers may restart: 60 s.
	PipelineTTL time.Duration
	// DeathsMax is the number of owners lost at which a session ends although it could go on: 3.
	DeathsMax int
}

var prefixPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,31}$`)

// withDefaults fills what was left zero.
func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = "tf"
	}
	for d, to := range map[*time.Duration]time.Duration{
		&c.LeaseTTL: 6 * time.Second, &c.RenewEvery: 2 * time.Second, &c.WorkerTTL: 6 * time.Second, &c.ReapEvery: time.Second,
		&c.SessionTimeout: time.Hour, &c.QueueTimeout: 10 * time.Minute, &c.ReassignTimeout: 15 * time.Second, &c.ControllerTimeout: time.Minute, &c.RoomEmptyTimeout: 30 * time.Second,
		&c.ReturnTimeout: 10 * time.Second, &c.ControlIdleMax: 10 * time.Minute, &c.RetentionTTL: time.Hour, &c.PipelineTTL: time.Minute,
	} {
		if *d == 0 {
			*d = to
		}
	}
	for n, to := range map[*int]int{&c.QueueMax: 100, &c.SessionsPerTenantMax: 100, &c.DeathsMax: 3} {
		if *n == 0 {
			*n = to
		}
	}
	return c
}

// Validate checks the configuration with its defaults filled in and names every field at fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	bad := func(wrong bool, field, rule string) {
		if wrong {
			errs = append(errs, fmt.Errorf("streaming: %s %s: %w", field, rule, ErrInvalid))
		}
	}
	bad(!prefixPattern.MatchString(c.Prefix), "Prefix", "must be 1 to 32 of a-z 0-9 _ . -")
	bad(c.LeaseTTL < 100*time.Millisecond, "LeaseTTL", "must be 100 ms or more")
	bad(c.RenewEvery <= 0 || c.RenewEvery > c.LeaseTTL/3+time.Millisecond, "RenewEvery", "must be above 0 and at most a third of LeaseTTL")
	bad(c.WorkerTTL < 2*c.RenewEvery, "WorkerTTL", "must be twice RenewEvery or more")
	bad(c.ReapEvery <= 0 || c.ReapEvery > c.LeaseTTL/2, "ReapEvery", "must be above 0 and at most half of LeaseTTL")
	bad(c.SessionsPerTenantMax < 1, "SessionsPerTenantMax", "must be 1 or more")
	bad(c.DeathsMax < 1, "DeathsMax", "must be 1 or more")
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"SessionTimeout", c.SessionTimeout}, {"QueueTimeout", c.QueueTimeout}, {"ReassignTimeout", c.ReassignTimeout}, {"ControllerTimeout", c.ControllerTimeout}, {"RoomEmptyTimeout", c.RoomEmptyTimeout}, {"ReturnTimeout", c.ReturnTimeout},
		{"ControlIdleMax", c.ControlIdleMax}, {"RetentionTTL", c.RetentionTTL}, {"PipelineTTL", c.PipelineTTL}} {
		bad(d.d < time.Millisecond, d.name, "must be 1 ms or more")
	}
	return errors.Join(errs...)
}
