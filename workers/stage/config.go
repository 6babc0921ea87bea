package stage

import (
	"fmt"
	"time"
)

const (
	sessionsMaxDefault  = 16
	drainTimeoutDefault = 5 * time.Second
	// poisonedMaxDefault bounds the names that are refused for good; a process with so many is sick.
	poisonedMaxDefault = 4096
	// keysRemembered is how many results, and how many ended sessions, are known again when they come twice.
	keysRemembered = 4096
)

// Config bounds a scheduler. The zero value means the defaults.
type Config struct {
	// SessionsMax is how many sessions may be held, those included that are cleaning up or were given up and have a task
	// that does not end. Default 16.
	SessionsMax int
	// DrainTimeout is how long a closing session may wait for its invocations, and then again for each release. Default 5 s.
	DrainTimeout time.Duration
	// PoisonedMax is how many poisoned names are kept; beyond it no session is opened any more. Default 4096.
	PoisonedMax int
}

// Validate refuses negative bounds.
func (c Config) Validate() error {
	if c.SessionsMax < 0 || c.DrainTimeout < 0 || c.PoisonedMax < 0 {
		return fmt.Errorf("%w: negative bound in %+v", ErrConfig, c)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.SessionsMax == 0 {
		c.SessionsMax = sessionsMaxDefault
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = drainTimeoutDefault
	}
	if c.PoisonedMax == 0 {
		c.PoisonedMax = poisonedMaxDefault
	}
	return c
}
