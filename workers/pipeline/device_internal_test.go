package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/models/terrain"
)

func TestDeviceErrorsAreTranslated(t *testing.T) {
	code := func(c gpu.Code) error { return fmt.Errorf("terrain: render: %w", &gpu.Error{Op: "call", Code: c}) }
	const outOfMemory, illegalAddress, assert, noDevice, invalidDevice, ecc = 2, 700, 710, 100, 101, 214
	for name, test := range map[string]struct {
		err           error
		running, load error
	}{
		"memory":          {code(outOfMemory), ErrOutOfMemory, ErrOutOfMemory},
		"illegal address": {code(illegalAddress), ErrDeviceLost, ErrDeviceLost},
		"assertion":       {code(assert), ErrDeviceLost, ErrDeviceLost},
		"ECC":             {code(ecc), ErrDeviceLost, ErrDeviceLost},
		"no device now":   {code(noDevice), ErrDeviceLost, ErrDeviceLost},
		"no such device":  {code(invalidDevice), nil, ErrInvalid},
		"no driver":       {gpu.ErrNoDriver, nil, ErrInvalid},
		"no image":        {gpu.ErrNoImage, nil, ErrInvalid},
		"closed":          {gpu.ErrClosed, ErrDeviceLost, ErrDeviceLost},
		"a panic":         {&gpu.PanicError{Value: "x"}, nil, nil},
	} {
		for place, got := range map[string]error{"running": deviceError(test.err), "loading": deviceLoadError(test.err)} {
			want := test.running
			if place == "loading" {
				want = test.load
			}
			if !errors.Is(got, test.err) {
				t.Errorf("%s, %s: %v lost its cause", name, place, got)
			}
			for _, class := range []error{ErrOutOfMemory, ErrDeviceLost, ErrInvalid} {
				if errors.Is(got, class) != errors.Is(want, class) {
					t.Errorf("%s, %s: %v is %v: %v", name, place, got, class, errors.Is(got, class))
				}
			}
		}
	}
	if deviceError(nil) != nil || deviceLoadError(nil) != nil {
		t.Error("no error became one")
	}
}

func TestTerrainTakesAtMostOneDevice(t *testing.T) {
	if _, err := NewOn("terrain", Options{Devices: []int{0, 1}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("two devices: %v", err)
	}
	if _, err := NewOn("no-such", Options{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown name: %v", err)
	}
	p, err := NewOn("terrain", Options{Devices: []int{3}})
	if err != nil {
		t.Fatal(err)
	}
	if got := *p.(*Terrain).device; got != 3 {
		t.Errorf("device %d", got)
	}
}

func TestTerrainWithoutADriverCannotLoad(t *testing.T) {
	if _, err := gpu.Open(); !errors.Is(err, gpu.ErrNoDriver) {
		t.Skipf("this machine has a GPU's driver: %v", err)
	}
	p, err := NewOn("terrain", Options{Devices: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(t.Context(), func(float64) {}); !errors.Is(err, ErrInvalid) {
		t.Errorf("Load: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestAFaultStrikesOnce(t *testing.T) {
	f := terrainFaults{dir: t.TempDir()}
	if f.next() != "" || (&terrainFaults{}).next() != "" {
		t.Error("a fault out of nothing")
	}
	var got []terrain.Fault
	for _, fault := range terrain.Faults() {
		if err := os.WriteFile(filepath.Join(f.dir, string(fault)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		got = append(got, f.next())
	}
	if !slices.Equal(got, terrain.Faults()) || f.next() != "" {
		t.Errorf("struck %v", got)
	}
}
