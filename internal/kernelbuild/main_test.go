package main

import (
	"os"
	"path/filepath"
	"testing"

	"telefuser/workers/kernels"
	"telefuser/workers/models/terrain"
)

// TestWgmmaIsWritten: the wrappers are kept in wgmma.go alone, and the file that kernels are built from is what it writes.
func TestWgmmaIsWritten(t *testing.T) {
	written, err := os.ReadFile("../../workers/kernels/wgmma.cuh")
	if err != nil {
		t.Fatal(err)
	}
	if string(written) != wgmmaSource() {
		t.Error("wgmma.cuh is not what wgmma.go writes; run `go run ./internal/kernelbuild -wgmma`, and build anew what is made of it")
	}
}

// TestUnitsAreWhatLiesThere: every source is built, and nothing else is.
func TestUnitsAreWhatLiesThere(t *testing.T) {
	for dir, units := range map[string][]kernels.Unit{"../../workers/kernels": kernels.Units(), "../../workers/models/terrain": terrain.Units()} {
		parts := map[string]bool{}
		for _, u := range units {
			for _, p := range u.Parts {
				parts[p] = true
				if _, err := os.Stat(filepath.Join(dir, p)); err != nil {
					t.Error(err)
				}
			}
		}
		sources, err := filepath.Glob(filepath.Join(dir, "*.cu"))
		if err != nil || len(sources) == 0 {
			t.Fatalf("%v, %v", sources, err)
		}
		for _, s := range sources {
			if !parts[filepath.Base(s)] {
				t.Errorf("%s is in no unit", s)
			}
		}
	}
}
