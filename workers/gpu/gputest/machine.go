package gputest

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

//go:embed src
var sources embed.FS

// ErrNoCompiler says that this machine has no C compiler.
var ErrNoCompiler = errors.New("gputest: no C compiler on this machine")

// Machine is a folder with the made-up libraries and the files that describe the machine.
type Machine struct{ Dir string }

// libraries are what a program looks for, and what they are built from.
func libraries() map[string]string {
	return map[string]string{"libcuda.so.1": "fakecuda.c", "libnvidia-ml.so.1": "fakenvml.c", "libnvtx3interop.so.1": "fakenvtx.c"}
}

// New puts the libraries into an empty folder, for a machine with so many GPUs of so many bytes each. It fails with ErrNoCompiler.
func New(dir string, gpus int, bytes int64) (*Machine, error) {
	built, err := build()
	if err != nil {
		return nil, err
	}
	m := &Machine{Dir: dir}
	for name, code := range built {
		if err := os.WriteFile(filepath.Join(dir, name), code, 0o600); err != nil {
			return nil, fmt.Errorf("gputest: %w", err)
		}
	}
	return m, m.write("machine", fmt.Sprintf("%d %d\n", gpus, bytes))
}

// build compiles the libraries, once in a process. Each machine gets copies of its own, for they keep the machine's state.
var build = sync.OnceValues(func() (map[string][]byte, error) { //nolint:gochecknoglobals // the compiler is slow
	cc, err := exec.LookPath("cc")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCompiler, err)
	}
	dir, err := os.MkdirTemp("", "gputest")
	if err != nil {
		return nil, fmt.Errorf("gputest: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	shared, err := sources.ReadFile("src/machine.h")
	if err != nil {
		return nil, fmt.Errorf("gputest: %w", err)
	}
	built := map[string][]byte{}
	for name, source := range libraries() {
		text, err := sources.ReadFile("src/" + source)
		if err != nil {
			return nil, fmt.Errorf("gputest: %w", err)
		}
		path := filepath.Join(dir, name)
		cmd := exec.Command(cc, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-Wl,-Bsymbolic", "-x", "c", "-", "-o", path, "-ldl")
		cmd.Stdin = bytes.NewReader(slices.Concat(shared, text))
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("gputest: compile %s: %w\n%s", source, err, out)
		}
		if built[name], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("gputest: %w", err)
		}
	}
	return built, nil
})

// Driver is the path of the made-up driver.
func (m *Machine) Driver() string { return filepath.Join(m.Dir, "libcuda.so.1") }

// NVML is the path of the made-up NVML.
func (m *Machine) NVML() string { return filepath.Join(m.Dir, "libnvidia-ml.so.1") }

// NVTX is the path of the made-up tools extension.
func (m *Machine) NVTX() string { return filepath.Join(m.Dir, "libnvtx3interop.so.1") }

// Ranges are the lines that the tools extension has written: "begin ID NAME" and "end ID".
func (m *Machine) Ranges() []string {
	text, err := os.ReadFile(filepath.Join(m.Dir, "ranges"))
	if err != nil {
		return nil // nothing was shown
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// Env is what a child process needs in its environment to live on this machine.
func (m *Machine) Env() string { return "LD_LIBRARY_PATH=" + m.Dir }

// Place is where a planted fault strikes.
type Place string

// The places.
const (
	AtRetain Place = "retain" // the taking of the device
	AtAlloc  Place = "alloc"  // an allocation
	AtLaunch Place = "launch" // a kernel
	AtHang   Place = "hang"   // a kernel that never ends; the code means nothing but must not be 0
)

// Plant makes a GPU fail once, at the next call of that kind, with the driver's code.
func (m *Machine) Plant(gpu int, at Place, code int) error {
	return m.write(fmt.Sprintf("fault-%d", gpu), fmt.Sprintf("%s %d\n", at, code))
}

// Waits reports whether a planted fault has not struck yet.
func (m *Machine) Waits(gpu int) bool {
	_, err := os.Stat(filepath.Join(m.Dir, fmt.Sprintf("fault-%d", gpu)))
	return err == nil
}

// Xid has NVML report a critical error of a GPU.
func (m *Machine) Xid(gpu, number int) error {
	return m.write(fmt.Sprintf("xid-%d", gpu), fmt.Sprintf("%d\n", number))
}

// Facts are what NVML says of a GPU, by the names of fakenvml.c: sm_clock and mem_clock in MHz, power_mw and limit_mw, temperature,
// utilization, ecc, used and total in bytes. What is left out is unknown.
type Facts map[string]uint64

// Tell sets what NVML says of a GPU from now on.
func (m *Machine) Tell(gpu int, facts Facts) error {
	var b strings.Builder
	for name, value := range facts {
		fmt.Fprintf(&b, "%s %d\n", name, value)
	}
	return m.write(fmt.Sprintf("nvml-%d", gpu), b.String())
}

// write makes a file whole or not at all, for the libraries read while tests write.
func (m *Machine) write(name, text string) error {
	path := filepath.Join(m.Dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("gputest: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("gputest: %w", err)
	}
	return nil
}
