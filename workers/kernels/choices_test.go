package kernels_test

import (
	"os"
	"path/filepath"
	"testing"

	"telefuser/workers/kernels"
)

func TestChoicesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "choices.json")
	c := kernels.NewChoices()
	c.Set("gemm a", "own 192")
	if err := c.Save(path); err != nil {
		t.Fatal(err)
	}
	if got := kernels.LoadChoices(path).Best("gemm a"); got != "own 192" {
		t.Errorf("got %q back", got)
	}
	if err := os.WriteFile(path, []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(t.TempDir(), "none")} {
		b := kernels.LoadChoices(p)
		if got := b.Best("gemm a"); got != "" {
			t.Errorf("%s: got %q", p, got)
		}
		b.Set("x", "y") // must not panic
	}
}
