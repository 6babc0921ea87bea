package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"telefuser/internal/config"
)

// TestDevHasAKeyOfItsOwn makes it once, for its owner alone, and does without where the settings have one.
func TestDevHasAKeyOfItsOwn(t *testing.T) {
	c := devConfig()
	c.DataDir = t.TempDir()
	again, given := c, c
	if err := ensureSecretKeys(&c); err != nil {
		t.Fatal(err)
	}
	if keys, err := c.Webhooks.Keys(); err != nil || len(keys) != 1 || len(keys[0]) != 32 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	files, err := os.ReadDir(c.DataDir)
	if err != nil || len(files) != 1 {
		t.Errorf("left %v, %v", files, err)
	}
	path := filepath.Join(c.DataDir, devKeyFile)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := ensureSecretKeys(&again); err != nil || !slices.Equal(again.Webhooks.SecretKeys, c.Webhooks.SecretKeys) {
		t.Errorf("the second start has another key: %v", err)
	}
	given.DataDir, given.Webhooks.SecretKeys = t.TempDir(), []string{"x"}
	if err := ensureSecretKeys(&given); err != nil || given.Webhooks.SecretKeys[0] != "x" {
		t.Errorf("%v, %v", given.Webhooks.SecretKeys, err)
	}
	for _, text := range []string{"", "short\n"} {
		broken := devConfig()
		broken.DataDir = c.DataDir
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := ensureSecretKeys(&broken); !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
