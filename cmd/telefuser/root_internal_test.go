package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"telefuser/internal/config"
)

// TestDevStartsFromItsOwnDefaults holds the order of what is said: a flag wins over the environment, that over the file, that over dev's defaults.
func TestDevStartsFromItsOwnDefaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("http:\n  auth: keys\nlog:\n  level: debug\n  format: json\nworker:\n  grace: 3s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(args ...string) config.Config {
		t.Helper()
		cmd := &cobra.Command{}
		read := settings(cmd, devConfig())
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		c, err := read()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := load()
	if c.HTTP.Auth != "off" || c.Log != (config.Log{Level: "warn", Format: "text"}) || c.HTTP.ShutdownGrace != 0 || c.Worker.Grace != time.Second || c.Stream.QueueSize != 16 ||
		c.Redis.URL != "" || c.HTTP.Port != 8000 {
		t.Errorf("nothing said: %+v", c)
	}
	t.Setenv("TELEFUSER_LOG_LEVEL", "error")
	t.Setenv("TELEFUSER_HTTP_SHUTDOWN_GRACE", "2s")
	t.Setenv("TELEFUSER_STREAM_QUEUE_SIZE", "0")
	t.Setenv("TELEFUSER_WORKER_GRACE", "9s")
	c = load("--config", file, "--grace", "4s")
	if c.HTTP.Auth != "keys" || c.Log != (config.Log{Level: "error", Format: "json"}) || c.HTTP.ShutdownGrace != 2*time.Second || c.Worker.Grace != 4*time.Second || c.Stream.QueueSize != 0 {
		t.Errorf("file, environment and flag: %+v", c)
	}
}

// TestHelpShowsTheDefaultsOfItsCommand asks the program as a person does.
func TestHelpShowsTheDefaultsOfItsCommand(t *testing.T) {
	for _, c := range []struct{ command, flag, want string }{
		{"dev", "--auth ", `"off"`}, {"dev", "--log-format ", `"text"`}, {"dev", "--log-level ", `"warn"`}, {"dev", "--grace ", `"1s"`}, {"dev", "--queue-size ", `"16"`},
		{"serve", "--auth ", `"keys"`}, {"serve", "--grace ", `"30s"`}, {"stream-serve", "--port ", `"8088"`}, {"worker", "--redis-url ", `"redis://127.0.0.1:6379/0"`},
	} {
		for line := range strings.Lines(run(t, c.command, "--help")) {
			if strings.Contains(line, c.flag) && !strings.Contains(line, "(default "+c.want+")") {
				t.Errorf("%s --help says %s", c.command, strings.TrimSpace(line))
			}
		}
	}
	if out := run(t, "dev", "--help"); strings.Contains(out, "6379") {
		t.Error("dev --help shows a Redis that it does not use")
	}
}

func TestVersionFlagAndCommandAgree(t *testing.T) {
	if flag, command := run(t, "--version"), run(t, "version"); flag != command || !strings.HasPrefix(flag, "telefuser ") {
		t.Errorf("%q and %q", flag, command)
	}
}

// run answers what a command prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := newRootCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
