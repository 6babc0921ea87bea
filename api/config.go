package api

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"time"
)

// AuthMode says who may call.
type AuthMode string

// The modes. There is no default: a server without keys must be asked for by name.
const (
	// AuthKeys wants an API key on every route but health, readiness and documentation; the key's tenant owns what is made.
	AuthKeys AuthMode = "keys"
	// AuthOff takes everybody for the one tenant LocalTenant.
	AuthOff AuthMode = "off"
)

// LocalTenant owns everything where Auth is off.
const LocalTenant = "local"

// Config shapes the server. Zero values take the defaults that are stated.
type Config struct {
	// Auth is AuthKeys or AuthOff; it must be set.
	Auth AuthMode
	// Version is what health answers; "" means "1.0.0".
	Version string
	// DefaultPipeline is what an absent model and OpenAI's model names mean; "" means the first contract.
	DefaultPipeline string
	// ModelAliases map further model names to pipelines. OpenAI's are there already unless they are mapped here.
	ModelAliases map[string]string
	// CORSOrigins are the exact browser origins that may call; empty turns CORS off.
	CORSOrigins []string
	// TLSCertFile and TLSKeyFile (PEM) make Run speak HTTPS; both or none.
	TLSCertFile string
	TLSKeyFile  string
	// MetricsPublic serves the metrics without a key.
	MetricsPublic bool
	// RedirectContent answers downloads with a signed address of the store that lives for RedirectTTL (0: 5 min, at most 15 min).
	RedirectContent bool
	RedirectTTL     time.Duration
	// PollAfter is what clients are told to wait between two polls (0: 1 s).
	PollAfter time.Duration
	// ShutdownGrace is how long Run serves on after its context ended, not ready any more (0: 5 s; below 0: not at all), and
	// ShutdownTimeout how long requests may then take to end before their connections are closed (0: 15 s).
	ShutdownGrace   time.Duration
	ShutdownTimeout time.Duration
	// ConcurrencyMax is how many jobs the operator wants to run at once; it is only shown (0: the workers that are up).
	ConcurrencyMax int
	// QueuedMax is the limit of queued jobs; it is only shown, jobs holds to it (0: 100,000).
	QueuedMax int
	// EventStreamsMax bounds the open event streams (0: 512); EventHeartbeat is the pause between their comments (0: 15 s).
	EventStreamsMax int
	EventHeartbeat  time.Duration
	// StallTimeout is how long a body may not move in either direction (0: 30 s), UploadTimeout how long one request's body may take in
	// all (0: 10 min).
	StallTimeout  time.Duration
	UploadTimeout time.Duration
	// BodyMemoryBytesMax bounds the memory of large JSON bodies that are decoded at the same time (0: 64 MiB).
	BodyMemoryBytesMax int64
	// DecodesMax is how many pictures are decoded at the same time (0: 2), which bounds what strangers can make of the memory.
	DecodesMax int
	// Stream is about live sessions, where Deps has them.
	Stream StreamConfig
	// TempDir holds uploads under way, as files without a name; "" means the system's.
	TempDir string
}

// The models of OpenAI, whose names and defaults the server takes on.
const (
	openAIModel   = "sora-2"
	openAISeconds = "4"
	openAIWidth   = 720
	openAIHeight  = 1280
)

// openAIModels are the names that OpenAI has documented.
func openAIModels() []string {
	return []string{openAIModel, "sora-2-pro", "sora-2-2025-10-06", "sora-2-pro-2025-10-06", "sora-2-2025-12-08"}
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&c.RedirectTTL, 5*time.Minute)
	set(&c.PollAfter, time.Second)
	set(&c.ShutdownGrace, 5*time.Second)
	set(&c.ShutdownTimeout, 15*time.Second)
	set(&c.EventHeartbeat, 15*time.Second)
	set(&c.StallTimeout, 30*time.Second)
	set(&c.UploadTimeout, 10*time.Minute)
	if c.Version == "" {
		c.Version = "1.0.0"
	}
	if c.EventStreamsMax == 0 {
		c.EventStreamsMax = 512
	}
	if c.BodyMemoryBytesMax == 0 {
		c.BodyMemoryBytesMax = 64 << 20
	}
	if c.DecodesMax == 0 {
		c.DecodesMax = 2
	}
	if c.QueuedMax == 0 {
		c.QueuedMax = 100_000
	}
	c.Stream = c.Stream.withDefaults()
	c.ModelAliases = maps.Clone(c.ModelAliases)
	return c
}

// writeTimeout is how long an answer may take that does not move its own deadline on.
func (c Config) writeTimeout() time.Duration { return 2 * c.StallTimeout }

// Validate answers what is wrong with the configuration, all of it at once.
func (c Config) Validate() error {
	c = c.withDefaults()
	var wrong []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Errorf("api: config: "+format, args...))
		}
	}
	refuse(c.Auth != AuthKeys && c.Auth != AuthOff, "Auth is %q, want %q or %q", c.Auth, AuthKeys, AuthOff)
	refuse((c.TLSCertFile == "") != (c.TLSKeyFile == ""), "TLSCertFile and TLSKeyFile go together")
	refuse(c.RedirectTTL < time.Second || c.RedirectTTL > 15*time.Minute, "RedirectTTL is %s, want 1 s to 15 min", c.RedirectTTL)
	refuse(c.StallTimeout < 0 || c.UploadTimeout < 0, "StallTimeout and UploadTimeout must not be negative")
	refuse(c.PollAfter < time.Millisecond, "PollAfter is %s, want at least 1 ms", c.PollAfter)
	refuse(c.EventStreamsMax < 0, "EventStreamsMax is %d, want at least 1", c.EventStreamsMax)
	refuse(c.DecodesMax < 0, "DecodesMax is %d, want at least 1", c.DecodesMax)
	refuse(c.BodyMemoryBytesMax < jsonBytesMax, "BodyMemoryBytesMax is %d, want at least %d", c.BodyMemoryBytesMax, jsonBytesMax)
	if err := c.Stream.validate(); err != nil {
		wrong = append(wrong, err)
	}
	for _, origin := range c.CORSOrigins {
		u, err := url.Parse(origin)
		refuse(err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host,
			"CORSOrigins has %q, want exact origins such as https://example.com", origin)
	}
	return errors.Join(wrong...)
}
