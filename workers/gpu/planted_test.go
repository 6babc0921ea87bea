package gpu_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"telefuser/workers/gpu"
	"telefuser/workers/gpu/gputest"
)

func probe(dev *gpu.Device) error {
	return dev.Do(context.Background(), func(c *gpu.Context) error {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		return c.Probe(ctx)
	})
}

// TestPlantedFaults has the driver fail in each way and looks at what the caller is told, and whether the device may be used on.
func TestPlantedFaults(t *testing.T) {
	const noDevice, invalidDevice, memory, illegalAddress, assert, ecc, nvlink, unavailable, unknown = 100, 101, 2, 700, 710, 214, 220, 46, 999
	for name, test := range map[string]struct {
		at   gputest.Place
		code int
		want error
		lost bool
	}{
		"not there":          {gputest.AtRetain, noDevice, gpu.ErrNoDevice, false},
		"no such device":     {gputest.AtRetain, invalidDevice, gpu.ErrInvalid, false},
		"unavailable":        {gputest.AtRetain, unavailable, gpu.ErrDeviceLost, false},
		"out of memory":      {gputest.AtAlloc, memory, gpu.ErrOutOfMemory, false},
		"ECC at allocation":  {gputest.AtAlloc, ecc, gpu.ErrDeviceLost, true},
		"ECC":                {gputest.AtLaunch, ecc, gpu.ErrDeviceLost, true},
		"illegal address":    {gputest.AtLaunch, illegalAddress, gpu.ErrDeviceLost, true},
		"assertion":          {gputest.AtLaunch, assert, gpu.ErrDeviceLost, true},
		"NVLink":             {gputest.AtLaunch, nvlink, gpu.ErrDeviceLost, true},
		"off the bus":        {gputest.AtLaunch, unknown, gpu.ErrDeviceLost, true},
		"kernel without end": {gputest.AtHang, 1, context.DeadlineExceeded, false},
	} {
		t.Run(name, func(t *testing.T) {
			m, d := ownMachine(t)
			if err := m.Plant(0, test.at, test.code); err != nil {
				t.Fatal(err)
			}
			dev, err := d.OpenDevice(t.Context(), 0)
			if err == nil {
				err = probe(dev)
			}
			if !errors.Is(err, test.want) || m.Waits(0) {
				t.Fatalf("%v, want %v; still waiting: %v", err, test.want, m.Waits(0))
			}
			if dev == nil {
				return
			}
			if test.at != gputest.AtHang { // nothing ends a kernel that hangs but the process
				defer dev.Close()
			}
			if got := dev.Lost() != nil; got != test.lost {
				t.Errorf("lost: %v, want %v", dev.Lost(), test.lost)
			}
			if test.at != gputest.AtHang {
				again := probe(dev)
				if test.lost && !errors.Is(again, gpu.ErrDeviceLost) || !test.lost && again != nil {
					t.Errorf("the next work: %v", again)
				}
			}
			if other, err := d.OpenDevice(t.Context(), 1); err != nil {
				t.Errorf("the other device: %v", err)
			} else if err := errors.Join(probe(other), other.Close()); err != nil {
				t.Errorf("the other device: %v", err)
			}
		})
	}
}

func TestMemoryIsCounted(t *testing.T) {
	_, d := ownMachine(t)
	dev, err := d.OpenDevice(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if got := dev.Memory(); got != (gpu.MemoryUse{}) {
		t.Errorf("a new device holds %+v", got)
	}
	err = dev.Do(t.Context(), func(c *gpu.Context) error {
		a, e1 := c.Alloc(1000)
		b, e2 := c.Alloc(500)
		if got := dev.Memory(); got != (gpu.MemoryUse{HeldBytes: 1500, PeakBytes: 1500}) {
			t.Errorf("two buffers: %+v", got)
		}
		_, e3 := c.Alloc(2 * machineBytes)
		if !errors.Is(e3, gpu.ErrOutOfMemory) {
			t.Errorf("more than there is: %v", e3)
		}
		return errors.Join(e1, e2, c.Free(a), c.Free(b))
	})
	if got := dev.Memory(); err != nil || got != (gpu.MemoryUse{PeakBytes: 1500}) {
		t.Errorf("after all was given back: %+v, %v", got, err)
	}
}

func TestRangesAreShownAndMeasured(t *testing.T) {
	m, _ := ownMachine(t)
	r := gpu.OpenRanges([]string{"known"}, m.NVTX())
	if !r.Shown() {
		t.Fatal("NVTX was not found")
	}
	outer := r.Begin("known")
	inner := r.Begin("new")
	if inner.End() < 0 || outer.End() < 0 {
		t.Error("a range took less than nothing")
	}
	if got, want := m.Ranges(), []string{"begin 1 known", "begin 2 new", "end 2", "end 1"}; !slices.EqualFunc(got, want, func(a, b string) bool { return strings.TrimSpace(a) == b }) {
		t.Errorf("shown: %q", got)
	}
}

func TestRangesWithoutAProfilerAreMeasured(t *testing.T) {
	m, _ := ownMachine(t)
	for name, r := range map[string]*gpu.Ranges{"nil": nil, "zero": {}, "another library": gpu.OpenRanges(nil, m.Driver())} {
		if r.Shown() && name != "another library" { // the machine's own NVTX may be there
			t.Errorf("%s: shown", name)
		}
		g := r.Begin("part")
		for began := time.Now(); time.Since(began) <= 0; { // until the clock has moved
		}
		if g.End() <= 0 {
			t.Errorf("%s: took nothing", name)
		}
	}
	if m.Ranges() != nil {
		t.Errorf("shown: %q", m.Ranges())
	}
}

func TestInventoryOfAMadeUpMachine(t *testing.T) {
	d := madeUpDriver(t)
	m := &gputest.Machine{Dir: machineDir()} // go-nvml is of one machine for a whole process
	if err := m.Tell(0, gputest.Facts{"sm_clock": 1980, "power_mw": 695500, "ecc": 0, "used": 5, "total": 100}); err != nil {
		t.Fatal(err)
	}
	monitor, err := gpu.OpenMonitorAt(m.NVML())
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.Close()
	all, err := d.InventoryOf(t.Context(), monitor)
	if err != nil || len(all) != machineGPUs {
		t.Fatalf("%d GPUs, %v", len(all), err)
	}
	known, unknown := all[0], all[1]
	if r := known.Telemetry; known.Health != gpu.HealthOK || r == nil || *r.PowerWatts != 695.5 || *r.SMClockMHz != 1980 || *r.MemoryUsedBytes != 5 || r.TemperatureCelsius != nil {
		t.Errorf("the first: %+v %+v", known, known.Telemetry)
	}
	if unknown.Health != gpu.HealthUnknown || unknown.Telemetry == nil || unknown.Telemetry.MemoryUsedBytes != nil || unknown.MemoryBytes != machineBytes {
		t.Errorf("the second: %+v %+v", unknown, unknown.Telemetry)
	}
	if !slices.Equal(known.Peers, []int{1}) || known.UUID == unknown.UUID || known.Name != "Made-up GPU" {
		t.Errorf("%+v", known)
	}
}

func TestXidIsHeard(t *testing.T) {
	d := madeUpDriver(t)
	m := &gputest.Machine{Dir: machineDir()}
	monitor, err := gpu.OpenMonitorAt(m.NVML())
	if err != nil {
		t.Fatal(err)
	}
	defer monitor.Close()
	all, err := d.InventoryOf(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if all[1].Health != gpu.HealthUnknown || all[1].Telemetry != nil {
		t.Errorf("without NVML: %+v", all[1])
	}
	if err := m.Xid(1, 79); err != nil {
		t.Fatal(err)
	}
	xid, err := monitor.NextXid(t.Context(), all[1].UUID)
	if err != nil || xid != 79 {
		t.Errorf("Xid %d, %v", xid, err)
	}
	if _, err := monitor.NextXid(t.Context(), "GPU-ff"); !gpu.IsNVML(err) {
		t.Errorf("a device that is not there: %v", err)
	}
	if err := error(&gpu.XidError{UUID: "GPU-a", Xid: xid}); !errors.Is(err, gpu.ErrDeviceLost) || errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("%v", err)
	}
}
