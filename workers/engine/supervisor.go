package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"sync"
	"time"

	"telefuser/workers/contract"
)

// Supervisor keeps one engine process alive and hands out its sessions.
type Supervisor struct {
	cfg Config

	mu sync.Mutex
	// current is the loaded engine, nil while there is none; desc describes it.
	current *process
	desc    Description
	// ended is why Run answered; nil before.
	ended error
	// changed is closed and replaced whenever the above changes.
	changed  chan struct{}
	sessions int
	// worked is whether the current engine has brought a session to its end.
	worked bool
	// aside is whether the device was lost and no engine has it again.
	aside bool
}

// Description is what an engine says of itself.
type Description struct {
	Contract contract.Contract
	Runtime  string
	// Device is empty when unknown.
	Device string
	// Devices are the facts of each of its devices; none on the processor.
	Devices []DeviceFacts
	// Loading is what was read of them while it was loaded; nil where there is none.
	Loading *PhaseFacts
	// LoadNS is how long spawn, load and warm-up took, in nanoseconds.
	LoadNS int64
}

// NewSupervisor checks the configuration. Nothing is started before Run.
func NewSupervisor(cfg Config) (*Supervisor, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Supervisor{cfg: cfg, changed: make(chan struct{})}, nil
}

// Run keeps an engine loaded until ctx ends, and answers nil when the last process is gone then. It gives up with ErrInvalid when the
// engine says that it cannot run like this at all, with ErrDeviceLost when its device was lost as often in a row as it may be, and with
// ErrDeviceTaken.
func (s *Supervisor) Run(ctx context.Context) error {
	err := s.run(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = err
	if err == nil {
		s.ended = &Error{Class: ClassClosed}
	}
	s.announce()
	return err
}

func (s *Supervisor) run(ctx context.Context) (err error) {
	if _, sweepErr := SweepPrivateDirs(s.cfg.socketPlace()); sweepErr != nil {
		s.cfg.Log.Warn("folders of dead engines stay", "error", sweepErr)
	}
	var locks []*DeviceLock
	defer func() {
		for _, lock := range locks {
			err = errors.Join(err, lock.Release())
		}
	}()
	for _, id := range s.cfg.Devices {
		lock, err := AcquireDevice(s.cfg.RuntimeDir, id, s.cfg.ShareDevices)
		if err != nil {
			return err
		}
		locks = append(locks, lock)
	}
	return s.keep(ctx, locks)
}

// keep runs one engine after the other.
func (s *Supervisor) keep(ctx context.Context, locks []*DeviceLock) error {
	defer s.setAside(false)
	pause, lost := s.cfg.BackoffMin, 0
	for ctx.Err() == nil {
		death := s.one(ctx, locks)
		if s.cfg.OnExit != nil {
			s.cfg.OnExit(death.Class)
		}
		if ctx.Err() != nil {
			return nil
		}
		s.cfg.Log.Warn("engine ended", "pipeline", s.cfg.Pipeline, "class", death.Class, "error", death.Message)
		if death.Class == ClassInvalid {
			return fmt.Errorf("engine: %s cannot run: %w", s.cfg.Pipeline, death)
		}
		worked := s.hasWorked()
		if worked {
			pause, lost = s.cfg.BackoffMin, 0
		}
		switch {
		case death.Class == ClassDeviceLost:
			lost++
			if s.cfg.DeviceLostMax > 0 && lost >= s.cfg.DeviceLostMax {
				return fmt.Errorf("engine: device given up: %w", death)
			}
			s.rest(ctx, lost)
		case !worked:
			sleep(ctx, pause)
			pause = min(2*pause, s.cfg.BackoffMax)
		}
	}
	return nil
}

// rest sets the lost device aside for a while, the longer the more often in a row it was lost.
func (s *Supervisor) rest(ctx context.Context, lost int) {
	pause := s.cfg.DeviceBackoffMin
	for range lost - 1 {
		pause = min(2*pause, s.cfg.DeviceBackoffMax)
	}
	s.setAside(true)
	s.cfg.Log.Warn("device is set aside", "pipeline", s.cfg.Pipeline, "devices", s.cfg.Devices, "losses", lost, "for", pause)
	sleep(ctx, pause)
}

// setAside marks the device, or takes the mark away.
func (s *Supervisor) setAside(aside bool) {
	s.mu.Lock()
	changed := s.aside != aside
	s.aside = aside
	s.mu.Unlock()
	if changed && s.cfg.OnAside != nil {
		s.cfg.OnAside(aside)
	}
}

// Aside reports whether the device was lost and no engine has it again.
func (s *Supervisor) Aside() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.aside
}

// sleep waits for d or for ctx's end.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// one is the life of one engine; it answers what ended it.
func (s *Supervisor) one(ctx context.Context, locks []*DeviceLock) *Error {
	s.publish(nil, Description{})
	p, err := spawn(s.cfg, locks)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return &Error{Class: ClassInvalid, Message: err.Error()}
	}
	if err != nil {
		return &Error{Class: ClassInternal, Message: err.Error()}
	}
	desc, err := p.load(ctx)
	if err != nil {
		// An engine that named a class ends by itself; its own exit code is as good as what it said.
		p.kill(asError(ctx, err))
		return p.death
	}
	p.log.Info("engine is loaded", "pipeline", s.cfg.Pipeline, "load_seconds", time.Duration(desc.LoadNS).Seconds(), "device", desc.Device)
	p.serving.Store(true)
	s.tellPhase(desc, desc.Loading)
	s.setAside(false)
	s.publish(p, desc)
	p.watch(ctx)
	s.withdraw()
	if ctx.Err() != nil {
		p.shutdown(ctx, &Error{Class: ClassClosed})
	}
	<-p.gone
	return p.death
}

// asError finds the engine's error in err; everything else is an end that was asked for.
func asError(ctx context.Context, err error) *Error {
	var own *Error
	switch {
	case errors.As(err, &own):
		return own
	case ctx.Err() != nil:
		return &Error{Class: ClassClosed}
	}
	return &Error{Class: ClassInternal, Message: err.Error()}
}

// tellPhase passes on what was read of the devices.
func (s *Supervisor) tellPhase(desc Description, phase *PhaseFacts) {
	if s.cfg.OnPhase != nil && phase != nil {
		s.cfg.OnPhase(desc, phase)
	}
}

// announce wakes everybody who waits for a change; the lock is held.
func (s *Supervisor) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Supervisor) publish(p *process, desc Description) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.desc, s.worked = p, desc, false
	s.announce()
}

// withdraw takes the engine away from new sessions.
func (s *Supervisor) withdraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = nil
	s.announce()
}

// noteWork remembers that the engine is good for something.
func (s *Supervisor) noteWork(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == p {
		s.worked = true
	}
}

func (s *Supervisor) hasWorked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worked
}

// Ready waits until an engine is loaded and describes it. It fails with ctx's cause, or with what ended Run.
func (s *Supervisor) Ready(ctx context.Context) (Description, error) {
	_, desc, err := s.await(ctx)
	return desc, err
}

func (s *Supervisor) await(ctx context.Context) (*process, Description, error) {
	for {
		s.mu.Lock()
		p, desc, ended, changed := s.current, s.desc, s.ended, s.changed
		s.mu.Unlock()
		if ended != nil {
			return nil, Description{}, ended
		}
		if p != nil && !p.isDoomed() {
			return p, desc, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, Description{}, context.Cause(ctx)
		}
	}
}

// nextID names a session within this supervisor.
func (s *Supervisor) nextID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++
	return strconv.Itoa(s.sessions)
}
