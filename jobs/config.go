package jobs

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Config holds the limits of the store. A zero value takes the default in its comment.
type Config struct {
	// Prefix begins every key of ours, so that deployments can share a database: "tf". asynq's own keys begin with "asynq:" and hold queues named after it.
	Prefix string
	// LeaseTTL is how long a claim is trusted without renewal: 10 s.
	LeaseTTL time.Duration
	// RenewEvery is the pause between renewals, at most a third of LeaseTTL: 3 s.
	RenewEvery time.Duration
	// ProgressEvery is the shortest pause between two writes of progress: 250 ms.
	ProgressEvery time.Duration
	// ReapEvery is the pause between two rounds of the reaper: 1 s.
	ReapEvery time.Duration
	// RetentionTTL is how long the record of an ended job is kept: 7 days.
	RetentionTTL time.Duration
	// QueuedMax is the number of queued jobs of a pipeline at which Create answers ErrQueueFull: 100,000.
	QueuedMax int
	// QueueTimeout is how long a job may wait for a worker before it fails: 24 h.
	QueueTimeout time.Duration
	// QueueAgeMax is how long the job whose turn is next of all that a tenant has waiting may have existed before Create answers ErrQuota: 0, no limit.
	QueueAgeMax time.Duration
	// PriorityStep is what one step of priority is worth: a job goes before those of its tenant with the next higher one that came this much later, so nothing starves: 10 min.
	PriorityStep time.Duration
	// MemoryMaxRatio is the share of Redis' maxmemory from which Create answers ErrMemoryFull, so that workers keep room to finish: 0.8.
	MemoryMaxRatio float64
	// IdempotencyTTL is how long an idempotency key is remembered: 24 h.
	IdempotencyTTL time.Duration
	// DedupeTTL is how long a create without a key is remembered for the retries of SDKs: 10 min.
	DedupeTTL time.Duration
	// StagedTTL is how long an uploaded object may wait for the record that will own it: 60 s.
	StagedTTL time.Duration
	// ZombieTTL is how long after an attempt lost its job its keys are deleted once more, for a worker that was still writing: 5 min.
	ZombieTTL time.Duration
	// DeathsMax is the number of worker deaths at which a job fails: 3.
	DeathsMax int
	// OOMMax, TransientMax, StallsMax and DevicesMax are the retries after an exhausted device memory (1), a passing fault (5), a stall (1) and a lost device (5).
	OOMMax       int
	TransientMax int
	StallsMax    int
	DevicesMax   int
	// CommitTimeout bounds how long Complete, Fail and Requeue try to reach Redis: 10 min.
	CommitTimeout time.Duration
	// CreatesPerMinute is the rate limit of one API key for creates, and CreatesBurst the number allowed at once: 0, no limit; burst = rate.
	CreatesPerMinute int
	CreatesBurst     int
	// Quota is what a key may do that has no limits of its own. Its CreatesPerMinute is the field above.
	Quota Quota
	// WebhooksPerTenantMax is how many webhooks a tenant may have: 20.
	WebhooksPerTenantMax int
	// SecretKeys are keys of 32 bytes. The first one seals the secrets of webhooks before they reach Redis, and all of them open what is sealed. None: secrets lie in Redis as they are.
	SecretKeys [][]byte
	// KeyCacheTTL is how long an API key is believed without asking Redis; a revocation works within it: 2 s.
	KeyCacheTTL time.Duration
	// WorkerTTL is how long a worker counts as up after its last heartbeat: 10 s.
	WorkerTTL time.Duration
}

var prefixPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,31}$`)

// withDefaults fills what was left zero.
func (c Config) withDefaults() Config {
	if c.Prefix == "" {
		c.Prefix = "tf"
	}
	setDuration := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	setDuration(&c.LeaseTTL, 10*time.Second)
	setDuration(&c.RenewEvery, 3*time.Second)
	setDuration(&c.ProgressEvery, 250*time.Millisecond)
	setDuration(&c.ReapEvery, time.Second)
	setDuration(&c.RetentionTTL, 7*24*time.Hour)
	setDuration(&c.QueueTimeout, 24*time.Hour)
	setDuration(&c.PriorityStep, 10*time.Minute)
	setDuration(&c.IdempotencyTTL, 24*time.Hour)
	setDuration(&c.DedupeTTL, 10*time.Minute)
	setDuration(&c.StagedTTL, time.Minute)
	setDuration(&c.ZombieTTL, 5*time.Minute)
	setDuration(&c.CommitTimeout, 10*time.Minute)
	setDuration(&c.KeyCacheTTL, 2*time.Second)
	setDuration(&c.WorkerTTL, 10*time.Second)
	setInt := func(n *int, to int) {
		if *n == 0 {
			*n = to
		}
	}
	setInt(&c.QueuedMax, 100_000)
	setInt(&c.DeathsMax, 3)
	setInt(&c.OOMMax, 1)
	setInt(&c.TransientMax, 5)
	setInt(&c.StallsMax, 1)
	setInt(&c.DevicesMax, 5)
	setInt(&c.CreatesBurst, c.CreatesPerMinute)
	setInt(&c.WebhooksPerTenantMax, 20)
	c.Quota.CreatesPerMinute = int64(c.CreatesPerMinute)
	if c.MemoryMaxRatio == 0 {
		c.MemoryMaxRatio = 0.8
	}
	return c
}

// Validate checks the configuration with its defaults filled in and names every field at fault.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	bad := func(wrong bool, field, rule string) {
		if wrong {
			errs = append(errs, fmt.Errorf("jobs: %s %s: %w", field, rule, ErrInvalid))
		}
	}
	bad(!prefixPattern.MatchString(c.Prefix), "Prefix", "must be 1 to 32 of a-z 0-9 _ . -")
	bad(c.LeaseTTL < 100*time.Millisecond, "LeaseTTL", "must be 100 ms or more")
	bad(c.RenewEvery <= 0 || c.RenewEvery > c.LeaseTTL/3+time.Millisecond, "RenewEvery", "must be above 0 and at most a third of LeaseTTL")
	bad(c.ProgressEvery < time.Millisecond || c.ProgressEvery > c.RenewEvery, "ProgressEvery", "must be 1 ms or more and at most RenewEvery")
	bad(c.ReapEvery <= 0 || c.ReapEvery > c.LeaseTTL/2, "ReapEvery", "must be above 0 and at most half of LeaseTTL")
	bad(c.MemoryMaxRatio < 0.1 || c.MemoryMaxRatio > 1, "MemoryMaxRatio", "must be within 0.1 and 1")
	bad(c.KeyCacheTTL > 5*time.Second, "KeyCacheTTL", "must be at most 5 s")
	bad(c.QueueAgeMax < 0, "QueueAgeMax", "must not be negative")
	bad(c.PriorityStep > 30*24*time.Hour, "PriorityStep", "must be at most 30 days")
	for _, key := range c.SecretKeys {
		bad(len(key) != SecretKeyBytes, "SecretKeys", fmt.Sprintf("must have %d bytes each", SecretKeyBytes))
	}
	for _, name := range QuotaNames() {
		limit := *c.Quota.Field(name)
		bad(limit < 0 || limit > quotaMax, "Quota "+name, "must be 0 or more")
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"RetentionTTL", c.RetentionTTL}, {"QueueTimeout", c.QueueTimeout}, {"IdempotencyTTL", c.IdempotencyTTL}, {"DedupeTTL", c.DedupeTTL}, {"StagedTTL", c.StagedTTL},
		{"ZombieTTL", c.ZombieTTL}, {"PriorityStep", c.PriorityStep}, {"CommitTimeout", c.CommitTimeout}, {"KeyCacheTTL", c.KeyCacheTTL}, {"WorkerTTL", c.WorkerTTL}} {
		bad(d.d < time.Millisecond, d.name, "must be 1 ms or more")
	}
	for _, n := range []struct {
		name   string
		n, min int
	}{{"QueuedMax", c.QueuedMax, 1}, {"DeathsMax", c.DeathsMax, 1}, {"OOMMax", c.OOMMax, 0}, {"TransientMax", c.TransientMax, 0},
		{"StallsMax", c.StallsMax, 0}, {"DevicesMax", c.DevicesMax, 0}, {"CreatesPerMinute", c.CreatesPerMinute, 0}, {"CreatesBurst", c.CreatesBurst, 0},
		{"WebhooksPerTenantMax", c.WebhooksPerTenantMax, 1}} {
		bad(n.n < n.min, n.name, fmt.Sprintf("must be %d or more", n.min))
	}
	return errors.Join(errs...)
}
