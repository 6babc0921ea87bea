package api

import (
	"fmt"
	"time"
)

// StreamConfig shapes the live sessions of a server that has them. Zero values take the defaults that are stated.
type StreamConfig struct {
	// Primary is a server that is there for live sessions: it is ready when one of their workers serves, and its health is theirs.
	Primary bool
	// TokenTTL is how long a token lets its holder into a room (0: 10 min).
	TokenTTL time.Duration
	// SessionTimeout is the longest duration of a session (0: 30 min); a request may ask for less. It must be that of the store of sessions.
	SessionTimeout time.Duration
	// ControlIdleTimeout is what a session has that asks for none (0: 10 s; below 0: none, such a session is always active).
	ControlIdleTimeout time.Duration
	// NumWorkers, SessionsPerWorkerMax and QueueSize are what the operator asked for; they are only shown. SessionsPerWorkerMax 0 means auto.
	NumWorkers           int
	SessionsPerWorkerMax int
	QueueSize            int
}

func (c StreamConfig) withDefaults() StreamConfig {
	for d, value := range map[*time.Duration]time.Duration{&c.TokenTTL: 10 * time.Minute, &c.SessionTimeout: 30 * time.Minute, &c.ControlIdleTimeout: 10 * time.Second} {
		if *d == 0 {
			*d = value
		}
	}
	c.ControlIdleTimeout = max(0, c.ControlIdleTimeout)
	return c
}

func (c StreamConfig) validate() error {
	if c.TokenTTL < time.Second || c.SessionTimeout < time.Second || c.SessionTimeout > sessionPictureTTL/2 {
		return fmt.Errorf("api: config: Stream.TokenTTL and Stream.SessionTimeout must be at least 1 s, and SessionTimeout at most %s", sessionPictureTTL/2)
	}
	return nil
}
