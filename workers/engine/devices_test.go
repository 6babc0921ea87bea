package engine_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"telefuser/workers/engine"
)

// told keeps what OnPhase is told.
type told struct {
	mu     sync.Mutex
	phases []engine.PhaseFacts
}

func (o *told) note(_ engine.Description, p *engine.PhaseFacts) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.phases = append(o.phases, *p)
}

func (o *told) all() []engine.PhaseFacts {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]engine.PhaseFacts{}, o.phases...)
}

func TestPhasesTellOfTheDevices(t *testing.T) {
	var heard told
	b := start(t, "", func(c *engine.Config) { c.OnPhase = heard.note })
	ctx := withPatience(t)
	desc, err := b.Ready(ctx)
	if err != nil {
		t.Fatal(err)
	}
	session, err := b.Open(ctx, request("hills"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = session.Next(ctx)
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		phase    *engine.PhaseFacts
		sessions int
	}{"loading": {desc.Loading, 0}, "session": {session.Phase(), 1}} {
		p := test.phase
		if p == nil || p.Sessions != test.sessions || len(p.Devices) != 1 {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		d := p.Devices[0]
		if bytes := d.Memory().Bytes(); bytes == nil || *bytes != 600<<20 || d.PowerWatts != nil || d.TemperatureCelsius != nil {
			t.Errorf("%s: %+v", name, d)
		}
		if name == "loading" && d.Readings == 0 {
			t.Error("a loaded engine was not read")
		}
		if d.Readings > 0 && (*d.SMClockMHz != 1980 || *d.MemoryUsedBytes != 700<<20) || d.Readings == 0 && d.SMClockMHz != nil {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if got := heard.all(); len(got) != 2 || got[0].Sessions != 0 || got[1].Sessions != 1 {
		t.Errorf("told %+v", got)
	}
}

// TestIdleDevicesAreProbed: a card may fall off its bus without a word while nobody works on it.
func TestIdleDevicesAreProbed(t *testing.T) {
	fail := filepath.Join(t.TempDir(), "fail")
	b := start(t, "", func(c *engine.Config) {
		c.Env = append(c.Env, "TEST_PROBE="+fail)
		c.DeviceBackoffMin = 10 * time.Millisecond
	})
	ctx := withPatience(t)
	if _, err := b.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	first := b.pid(t)
	if err := os.WriteFile(fail, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait(t, "the engine ends", func() bool { return b.lastExit() == engine.ClassDeviceLost })
	if _, err := b.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	if b.pid(t) == first {
		t.Error("no new engine")
	}
}

func TestDevicesAreSharedOnlyByThoseToldSo(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ first, second, fits bool }{
		"both":           {true, true, true},
		"the first only": {true, false, false},
		"the other only": {false, true, false},
		"neither":        {false, false, false},
	} {
		first, err := engine.AcquireDevice(dir, "0", test.first)
		if err != nil {
			t.Fatal(err)
		}
		second, err := engine.AcquireDevice(dir, "0", test.second)
		switch {
		case test.fits && err != nil, !test.fits && !errors.Is(err, engine.ErrDeviceTaken):
			t.Errorf("%s: %v", name, err)
		case err == nil:
			err = second.Release()
		default:
			err = nil
		}
		if err := errors.Join(err, first.Release()); err != nil {
			t.Error(err)
		}
	}
}

// TestEnginesShareADevice runs two supervisors on one device.
func TestEnginesShareADevice(t *testing.T) {
	ctx := withPatience(t)
	share := func(dir string) func(*engine.Config) {
		return func(c *engine.Config) {
			c.Devices, c.ShareDevices = []string{"gpu-0"}, true
			if dir != "" {
				c.RuntimeDir = dir
			}
		}
	}
	first := start(t, "", share(""))
	if _, err := first.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	second := start(t, "", share(first.dir))
	if _, err := second.Ready(ctx); err != nil {
		t.Errorf("beside another that shares: %v", err)
	}
	third := start(t, "", func(c *engine.Config) { c.Devices, c.RuntimeDir = []string{"gpu-0"}, first.dir })
	if _, err := third.Ready(ctx); !errors.Is(err, engine.ErrDeviceTaken) {
		t.Errorf("alone beside others: %v", err)
	}
}
