package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// parallelTests is how many tests run at once: most of them wait for a lease to end and need no processor.
const parallelTests = 6

// TestMain makes room for what the tests share and removes it at the end.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == flag.Lookup("test.parallel").DefValue {
		_ = flag.Set("test.parallel", strconv.Itoa(parallelTests))
	}
	dir, err := os.MkdirTemp("", "tf-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	buildDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// buildDir takes the program under test.
var buildDir string

// program builds the binary once for all tests, and answers its path.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildDir, "telefuser")
	cmd := exec.Command("go", "build", "-o", path, "telefuser/cmd/telefuser")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// standIn builds what encodes in place of ffmpeg where thousands of videos are made, and answers its path.
func standIn(t *testing.T) string {
	t.Helper()
	path := filepath.Join(buildDir, "encoder")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "telefuser/internal/faults/testdata/encoder")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the stand-in of ffmpeg: %v\n%s", err, out)
	}
	return path
}

// repository is the folder of go.mod.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// shortDir is a temporary directory whose path leaves room for the name of a Unix socket, which may have about 100 bytes.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tf-") //nolint:usetesting // t.TempDir puts the test's whole name into the path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("temporary directory: %v", err)
		}
	})
	return dir
}
