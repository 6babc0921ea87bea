package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"telefuser/internal/config"
)

func TestFlagsWinOverEnvironmentOverFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	write(t, path, "http:\n  port: 1\n  host: 10.0.0.1\n  cors_origins: [\"https://a.example\", \"https://b.example\"]\nlog:\n  level: warn\n")
	c, err := config.Load(config.Default(), path, []string{"TELEFUSER_HTTP_PORT=2", "TELEFUSER_HTTP_HOST=10.0.0.2", "HOME=/x"}, map[string]string{"port": "3"})
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Port != 3 || c.HTTP.Host != "10.0.0.2" || c.Log.Level != "warn" || c.Jobs.LeaseTTL != 10*time.Second {
		t.Errorf("port %d, host %s, level %s, lease %s", c.HTTP.Port, c.HTTP.Host, c.Log.Level, c.Jobs.LeaseTTL)
	}
	if len(c.HTTP.CORSOrigins) != 2 || c.HTTP.CORSOrigins[1] != "https://b.example" {
		t.Errorf("origins %v", c.HTTP.CORSOrigins)
	}
}

// TestBaseIsBelowTheFile: what a command starts from is said by nobody, so everything said wins over it.
func TestBaseIsBelowTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	write(t, path, "http:\n  host: 10.0.0.1\n")
	base := config.Default()
	base.HTTP.Host, base.HTTP.Port, base.Log.Level, base.Redis.URL = "10.0.0.9", 9, "debug", ""
	c, err := config.Load(base, path, []string{"TELEFUSER_HTTP_PORT=2"}, map[string]string{"log-level": "error"})
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Host != "10.0.0.1" || c.HTTP.Port != 2 || c.Log.Level != "error" || c.Redis.URL != "" || c.Models.Default != "terrain" {
		t.Errorf("%+v", c)
	}
}

func TestMistakesAreRefusedAndNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "unknown.yaml"), "http:\n  prot: 1\n")
	for name, c := range map[string]struct {
		file  string
		env   []string
		flags map[string]string
		names string
	}{
		"unknown key":      {file: filepath.Join(dir, "unknown.yaml"), names: "http.prot"},
		"unknown variable": {env: []string{"TELEFUSER_HTTP_PROT=1"}, names: "TELEFUSER_HTTP_PROT"},
		"no number":        {flags: map[string]string{"port": "x"}, names: "--port"},
		"port range":       {flags: map[string]string{"port": "70000"}, names: "http.port"},
		"auth":             {env: []string{"TELEFUSER_HTTP_AUTH=maybe"}, names: "http.auth"},
		"debug on network": {flags: map[string]string{"debug-addr": "0.0.0.0:6060"}, names: "http.debug_addr"},
		"half a TLS pair":  {flags: map[string]string{"tls-cert": "x"}, names: "http.tls_key"},
		"star origin":      {flags: map[string]string{"cors-origins": "*"}, names: "http.cors_origins"},
		"s3, no bucket":    {flags: map[string]string{"storage": "s3"}, names: "storage.s3.bucket"},
		"duration":         {env: []string{"TELEFUSER_JOBS_LEASE_TTL=10"}, names: "TELEFUSER_JOBS_LEASE_TTL"},
		"media address":    {flags: map[string]string{"livekit-url": "127.0.0.1:7880"}, names: "livekit.url"},
		"media scheme":     {flags: map[string]string{"livekit-public-url": "redis://h"}, names: "livekit.public_url"},
		"many sessions":    {flags: map[string]string{"max-sessions-per-worker": "65"}, names: "stream.max_sessions_per_worker"},
		"no sessions":      {flags: map[string]string{"max-sessions-per-worker": "0"}, names: "stream.max_sessions_per_worker"},
		"long queue":       {flags: map[string]string{"queue-size": "10001"}, names: "stream.queue_size"},
		"short token":      {flags: map[string]string{"token-ttl": "1"}, names: "livekit.token_ttl"},
		"no duration":      {flags: map[string]string{"control-idle-timeout": "soon"}, names: "--control-idle-timeout"},
		"missing file":     {file: filepath.Join(dir, "none.yaml"), names: "none.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Load(config.Default(), c.file, c.env, c.flags)
			if !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), c.names) {
				t.Errorf("got %v, want one that names %s", err, c.names)
			}
		})
	}
}

func TestSecretsAreReadFromFilesAndMasked(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "redis"), "hunter2\n")
	write(t, filepath.Join(dir, "s3"), "canary-secret\n")
	write(t, filepath.Join(dir, "livekit"), "canary-media\n")
	c, err := config.Load(config.Default(), "", []string{"TELEFUSER_REDIS_URL=redis://user@h:1/2"}, map[string]string{
		"redis-password-file": filepath.Join(dir, "redis"), "s3-secret-key-file": filepath.Join(dir, "s3"), "livekit-api-secret-file": filepath.Join(dir, "livekit")})
	if err != nil {
		t.Fatal(err)
	}
	if c.Redis.URL != "redis://user:hunter2@h:1/2" || c.Storage.S3.SecretKey != "canary-secret" || c.LiveKit.APISecret != "canary-media" {
		t.Fatalf("secrets not read: %s %s %s", c.Redis.URL, c.Storage.S3.SecretKey, c.LiveKit.APISecret)
	}
	for _, f := range config.Fields() {
		if v := f.Value(c); strings.Contains(v, "hunter2") || strings.Contains(v, "canary") && !strings.HasPrefix(v, dir) {
			t.Errorf("%s shows a secret: %s", f.Key, v)
		}
	}
}

// TestBareSeconds are what the command lines of other servers have; only live sessions' settings take them.
func TestBareSeconds(t *testing.T) {
	c, err := config.Load(config.Default(), "", []string{"TELEFUSER_STREAM_CONTROLLER_TIMEOUT=20s"}, map[string]string{
		"control-idle-timeout": "2.5", "session-timeout": "90", "token-ttl": "3600", "room-empty-timeout": "1m"})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Stream
	if s.ControlIdleTimeout != 2500*time.Millisecond || s.SessionTimeout != 90*time.Second || c.LiveKit.TokenTTL != time.Hour || s.RoomEmptyTimeout != time.Minute ||
		s.ControllerTimeout != 20*time.Second {
		t.Errorf("%+v, token %s", s, c.LiveKit.TokenTTL)
	}
}

func TestEveryFieldIsDocumentedAndUnique(t *testing.T) {
	seen := map[string]string{}
	doc, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range config.Fields() {
		if f.Doc == "" || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s: its sentence is %q", f.Key, f.Doc)
		}
		for _, name := range []string{f.Key, f.Env, f.Flag} {
			if other, taken := seen[name]; taken && other != f.Key {
				t.Errorf("%s and %s share %s", f.Key, other, name)
			}
			seen[name] = f.Key
		}
		if row := config.DocRow(f); !strings.Contains(string(doc), row) {
			t.Errorf("docs/configuration.md lacks the row of %s; run `go run ./cmd/telefuser config --markdown`:\n%s", f.Key, row)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
