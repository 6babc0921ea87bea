package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"telefuser/internal/config"
	"telefuser/jobs"
)

// devKeyFile is the file in the data directory with the key that seals the secrets of webhooks.
const devKeyFile = "webhook-secret-keys"

// ensureSecretKeys gives dev a key of its own where the settings name none: the one that an earlier run left in the data directory, or a new one.
func ensureSecretKeys(c *config.Config) error {
	if len(c.Webhooks.SecretKeys) > 0 {
		return nil
	}
	path := filepath.Join(c.DataDir, devKeyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		text, err = makeSecretKey(path)
	}
	if err != nil {
		return fmt.Errorf("key of webhooks: %w", err)
	}
	c.Webhooks.SecretKeys = strings.Fields(string(text))
	if _, err := c.Webhooks.Keys(); err != nil || len(c.Webhooks.SecretKeys) == 0 {
		return fmt.Errorf("%w: %s: want a key of 32 bytes in base64 on each line", config.ErrInvalid, path)
	}
	return nil
}

// makeSecretKey writes a new key where only its owner reads it. It is whole on the disk before it has its name, for secrets that it seals are lost with it.
func makeSecretKey(path string) ([]byte, error) {
	key := make([]byte, jobs.SecretKeyBytes)
	_, _ = rand.Read(key) // never fails: the standard library ends the process instead
	text := []byte(base64.StdEncoding.EncodeToString(key) + "\n")
	file, err := os.CreateTemp(filepath.Dir(path), devKeyFile+"-*")
	if err != nil {
		return nil, err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(file.Name()))
	}
	return text, nil
}
