package gpu_test

import (
	"errors"
	"flag"
	"os"
	"sync"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/gpu/gputest"
)

var (
	fault   = flag.String("fault", "", "internal: the fault that a child process of TestFaults commits")
	machine = flag.String("machine", "", "internal: the made-up machine of a child process")
)

// TestMain removes the made-up machine that the tests share.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if dir := machineDir(); dir != "" && dir != *machine {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// The machine that stands in where there is no GPU.
const (
	machineGPUs  = 2
	machineBytes = 1 << 30
)

// shared is the machine that tests without faults share, made at its first use.
var shared struct {
	once sync.Once
	at   string
	err  error
}

func machineDir() string {
	if *machine != "" {
		return *machine
	}
	return shared.at
}

// madeUp says whether driver stands on a made-up machine.
func madeUp() bool { return machineDir() != "" }

// driver opens the driver: the machine's own, or a made-up one. It skips the test and says why where there is neither.
func driver(t *testing.T) *gpu.Driver {
	t.Helper()
	d, err := gpu.Open()
	if errors.Is(err, gpu.ErrNoDriver) || errors.Is(err, gpu.ErrNoDevice) {
		return madeUpDriver(t)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func madeUpDriver(t *testing.T) *gpu.Driver {
	t.Helper()
	m := &gputest.Machine{Dir: *machine}
	if m.Dir == "" {
		shared.once.Do(func() {
			var dir string
			if dir, shared.err = os.MkdirTemp("", "gpus"); shared.err == nil { //nolint:usetesting // it outlives the test
				_, shared.err = gputest.New(dir, machineGPUs, machineBytes)
				shared.at = dir
			}
		})
		if errors.Is(shared.err, gputest.ErrNoCompiler) {
			t.Skipf("needs an NVIDIA GPU, or a C compiler to make one up: %v", shared.err)
		}
		if shared.err != nil {
			t.Fatal(shared.err)
		}
		m.Dir = shared.at
	}
	d, err := gpu.Open(m.Driver())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ownMachine makes a machine for one test that breaks it.
func ownMachine(t *testing.T) (*gputest.Machine, *gpu.Driver) {
	t.Helper()
	m, err := gputest.New(t.TempDir(), machineGPUs, machineBytes)
	if errors.Is(err, gputest.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := gpu.Open(m.Driver())
	if err != nil {
		t.Fatal(err)
	}
	return m, d
}
