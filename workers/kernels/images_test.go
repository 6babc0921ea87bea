package kernels_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
)

// TestBuildsAreFresh fails when a source changed after its machine code was built.
func TestBuildsAreFresh(t *testing.T) {
	m, err := kernels.ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range kernels.Units() {
		src, err := u.Source()
		if err != nil {
			t.Fatal(err)
		}
		if m.Sources[u.Name] != gpu.SourceHash(src) {
			t.Errorf("%s changed since it was built: run go run ./internal/kernelbuild (docs/kernels.md)", u.Name)
		}
		img, err := kernels.LoadImage(u.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(img.Cubins[kernels.ArchHopper]) == 0 || u.Portable && len(img.PTX) == 0 {
			t.Errorf("%s: a build is missing", u.Name)
		}
	}
}

// TestEverySourceIsAUnit fails when a kernel source is built by nobody.
func TestEverySourceIsAUnit(t *testing.T) {
	files, err := filepath.Glob("*.cu")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, u := range kernels.Units() {
		known[u.Name+".cu"] = true
	}
	for _, f := range files {
		if !known[f] {
			t.Errorf("%s is in no unit", f)
		}
	}
	if len(files) != len(known) {
		t.Errorf("%d sources, %d units", len(files), len(known))
	}
}

// TestClangCompilesEverySource keeps the kernels free of NVIDIA's own toolchain.
func TestClangCompilesEverySource(t *testing.T) {
	clang, err := exec.LookPath("clang-19")
	if err != nil {
		t.Skipf("needs clang-19 with its NVPTX back end: %v", err)
	}
	for _, u := range kernels.Units() {
		t.Run(u.Name, func(t *testing.T) {
			src, err := u.Source()
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			in, out := filepath.Join(dir, u.Name+".cu"), filepath.Join(dir, u.Name+".ptx")
			if err := os.WriteFile(in, []byte(src), 0o600); err != nil {
				t.Fatal(err)
			}
			log, err := exec.Command(clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90a", "-nocudainc", "-nocudalib",
				"--cuda-feature=+ptx83", "-O1", "-S", "-o", out, in).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			ptx, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(ptx), ".entry") {
				t.Error("no kernel came out")
			}
		})
	}
}
