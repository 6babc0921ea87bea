package faults_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// The extents of a run: what `make test`, `make faults` and `make faults-long` want.
const (
	extentShort = "short"
	extentFull  = "full"
	extentLong  = "long"
)

var (
	extent      = flag.String("faults", extentShort, "how much to break: short, full or long")
	seedFlag    = flag.Int64("seed", 0, "seed of the random schedule; 0 takes one from the clock")
	onlyFlag    = flag.String("only", "", "numbers of the faults of the random schedule that strike, such as 3,7; empty means all")
	overlay     = flag.String("program-overlay", "", "overlay of the Go tool for the program under test: a mutant")
	lease       = flag.Duration("lease", benchLease, "how long a claim is trusted on a bench; that of the product where it is not set")
	bars        = flag.Bool("bars", false, "hold measured times to their goals; for a machine that does nothing else")
	strikesFlag = flag.Int("strikes", 0, "faults of the random schedule; 0 means what the extent wants")
	shrinkFlag  = flag.Bool("shrink", false, "look for a smaller random schedule that fails too, as the long extent does")
	jobsFlag    = flag.Int("jobs", 0, "jobs of the random schedule; 0 means what the extent wants")
)

// parallelTests is how many benches stand at once: most of the time they wait for something to end.
const parallelTests = 6

// atLeast says whether the run is of that extent or a greater one.
func atLeast(wanted string) bool {
	rank := map[string]int{extentShort: 0, extentFull: 1, extentLong: 2}
	return rank[*extent] >= rank[wanted]
}

// need skips a test whose extent was not asked for.
func need(t *testing.T, wanted string) {
	t.Helper()
	if !atLeast(wanted) {
		t.Skipf("runs with -faults=%s: make faults, make faults-long", wanted)
	}
}

// chosenSeed is the seed of this run; it is printed by who uses it.
func chosenSeed() int64 {
	if *seedFlag != 0 {
		return *seedFlag
	}
	return time.Now().UnixNano()%1_000_000 + 1
}

// TestMain makes room for the program under test and removes it at the end.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == flag.Lookup("test.parallel").DefValue {
		_ = flag.Set("test.parallel", strconv.Itoa(parallelTests))
	}
	dir, err := os.MkdirTemp("", "tf-faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// buildDir takes the programs under test.
var buildDir string

// program builds the binary with the scripted pipeline in its table, once for all tests, and answers its path.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) { return build("telefuser") })

// standIn builds what encodes in place of ffmpeg, and answers its path.
func standIn(t *testing.T) string {
	t.Helper()
	path := filepath.Join(buildDir, "encoder")
	cmd := exec.Command("go", "build", "-o", path, "./testdata/encoder")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the stand-in of ffmpeg: %v\n%s", err, out)
	}
	return path
}

// buildFailed begins the words about a program that does not compile.
const buildFailed = "the program does not compile:"

// build makes the program under a name, with further arguments for the compiler.
func build(name string, more ...string) (string, error) {
	path := filepath.Join(buildDir, name)
	args := append([]string{"build", "-tags", "faults", "-o", path}, more...)
	if *overlay != "" {
		args = append(args, "-overlay", *overlay)
	}
	cmd := exec.Command("go", append(args, "telefuser/cmd/telefuser")...)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", buildFailed, name, err, out)
	}
	return path, nil
}
