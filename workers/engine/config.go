package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// Config says how a supervisor runs its engine. Zero durations and counts take the defaults named at each field.
type Config struct {
	// Command is the engine's argv; "--socket PATH" is appended to it. Required.
	Command []string
	// Env is the whole environment of the engine. Nil is an empty one, so that a worker's secrets reach no pipeline by accident.
	Env []string
	// Dir is the engine's working directory; empty is the supervisor's.
	Dir string
	// Pipeline is the name that the log lines carry.
	Pipeline string
	// RuntimeDir holds the private socket folders and the device locks. Required; it is made if it is missing.
	RuntimeDir string
	// Devices are the ids of the devices that the engine owns while it lives; none for a CPU pipeline. It owns them alone unless ShareDevices
	// is set, which lets in others that are set so as well.
	Devices      []string
	ShareDevices bool
	// LoadTimeout bounds spawn, load and warm-up together. Default 10 minutes.
	LoadTimeout time.Duration
	// StallTimeout bounds the time that a call into the loaded pipeline may go without progress. Default 2 minutes.
	StallTimeout time.Duration
	// HeartbeatTimeout bounds the silence between two heartbeats. Default 15 seconds.
	HeartbeatTimeout time.Duration
	// CloseGrace is how long a closed session may hold on before its engine is killed. Default 2 seconds.
	CloseGrace time.Duration
	// KillGrace is the time between SIGTERM and SIGKILL. Default 2 seconds.
	KillGrace time.Duration
	// BackoffMin and BackoffMax bound the pause before a respawn; it doubles with each engine in a row that did no work. Defaults 250
	// milliseconds and 30 seconds.
	BackoffMin time.Duration
	BackoffMax time.Duration
	// DeviceBackoffMin and DeviceBackoffMax bound the time for which a lost device is set aside before an engine tries it again; it doubles
	// with each loss in a row. Defaults 2 seconds and 5 minutes.
	DeviceBackoffMin time.Duration
	DeviceBackoffMax time.Duration
	// DeviceLostMax is how many engines in a row may lose their device before the supervisor gives it up; 0 means that it never does.
	DeviceLostMax int
	// OnAside, where set, is told when a lost device is set aside and when an engine has it again. It must not block.
	OnAside func(aside bool)
	// Credits is how many finished chunks a session may hold unread. Default 2.
	Credits int
	// OnDemand has a session make a chunk only when Next asks for it, so that every control that came before acts in it. Credits has no meaning then.
	OnDemand bool
	// FrameMemoryBytes bounds the memory that an engine and its supervisor share for frames, where the system has such; pages that were never used cost nothing. What does
	// not fit is sent over the socket. Default 128 MiB; negative is none.
	FrameMemoryBytes int64
	// OnExit, where set, is told each end of an engine process, expected ones (ClassClosed) included. It must not block.
	OnExit func(class Class)
	// OnPhase, where set, is told what was read of the devices of an engine while it was loaded, and while a session was open. It is called by
	// whoever waited for that, so it must be quick, and by several at once.
	OnPhase func(desc Description, phase *PhaseFacts)
	// Log takes the supervisor's lines and, at debug level, the engine's standard error. Required.
	Log *slog.Logger
}

const (
	socketName = "engine.sock"
	// socketPathBytesMax is what every kernel takes.
	socketPathBytesMax = 100
	// randomNameBytesMax is the longest name that the system makes up for a folder.
	randomNameBytesMax = 20
)

// socketPlace is where the private folders of sockets are made, and how their names begin: in the runtime directory, or in the system's
// place for temporary files where the former has too long a name for a socket.
func (c Config) socketPlace() (parent, prefix string) {
	prefix = "engine-"
	if len(c.RuntimeDir)+len(prefix)+len(socketName)+2+randomNameBytesMax <= socketPathBytesMax {
		return c.RuntimeDir, prefix
	}
	return os.TempDir(), "telefuser-" + prefix
}

// withDefaults fills the zero fields.
func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&c.LoadTimeout, 10*time.Minute)
	set(&c.StallTimeout, 2*time.Minute)
	set(&c.HeartbeatTimeout, 15*time.Second)
	set(&c.CloseGrace, 2*time.Second)
	set(&c.KillGrace, 2*time.Second)
	set(&c.BackoffMin, 250*time.Millisecond)
	set(&c.BackoffMax, 30*time.Second)
	set(&c.DeviceBackoffMin, 2*time.Second)
	set(&c.DeviceBackoffMax, 5*time.Minute)
	if c.FrameMemoryBytes == 0 {
		c.FrameMemoryBytes = 128 << 20
	}
	if c.OnDemand {
		c.Credits = 1
	}
	if c.Credits == 0 {
		c.Credits = 2
	}
	return c
}

// Validate says what is wrong with the configuration.
func (c Config) Validate() error {
	switch {
	case len(c.Command) == 0:
		return errors.New("engine: no command")
	case c.RuntimeDir == "":
		return errors.New("engine: no runtime directory")
	case c.Log == nil:
		return errors.New("engine: no logger")
	case c.Credits < 0:
		return fmt.Errorf("engine: credits %d", c.Credits)
	case c.DeviceLostMax < 0:
		return fmt.Errorf("engine: device lost at most %d times", c.DeviceLostMax)
	}
	return nil
}
