package config

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Validate refuses settings that contradict themselves or each other, and names the first one.
func (c Config) Validate() error {
	checks := []struct {
		key string
		ok  bool
		say string
	}{
		{"log.level", slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level), "want debug, info, warn or error"},
		{"log.format", slices.Contains([]string{"json", "text"}, c.Log.Format), "want json or text"},
		{"http.port", c.HTTP.Port >= 0 && c.HTTP.Port <= 65535, "want 0..65535"},
		{"http.auth", slices.Contains([]string{"keys", "off"}, c.HTTP.Auth), "want keys or off"},
		{"http.tls_key", (c.HTTP.TLSCert == "") == (c.HTTP.TLSKey == ""), "tls_cert and tls_key go together"},
		{"http.debug_addr", loopback(c.HTTP.DebugAddr), "want a loopback host:port"},
		{"http.creates_per_minute", c.HTTP.CreatesPerMinute >= 0, "want 0 or more"},
		{"http.shutdown_grace", within(c.HTTP.ShutdownGrace, 0, 10*time.Minute), "want 0s..10m"},
		{"http.cors_origins", !slices.Contains(c.HTTP.CORSOrigins, "*") && !slices.Contains(c.HTTP.CORSOrigins, "null"), "want exact origins"},
		{"redis.url", c.Redis.URL == "" || redisURL(c.Redis.URL), "want redis://host:port/db or rediss://..."},
		{"redis.prefix", plain(c.Redis.Prefix), "want letters, digits, - and _"},
		{"storage.driver", slices.Contains([]string{"file", "s3"}, c.Storage.Driver), "want file or s3"},
		{"storage.s3.bucket", c.Storage.Driver != "s3" || c.Storage.S3.Bucket != "", "the s3 driver needs a bucket"},
		{"storage.s3.checksums", slices.Contains([]string{"when_supported", "when_required"}, c.Storage.S3.Checksums), "want when_supported or when_required"},
		{"jobs.lease_ttl", within(c.Jobs.LeaseTTL, 2*time.Second, 10*time.Minute), "want 2s..10m"},
		{"jobs.retention", within(c.Jobs.Retention, time.Second, 10*365*24*time.Hour), "want 1s..10 years"},
		{"jobs.queued_max", c.Jobs.QueuedMax >= 1, "want 1 or more"},
		{"jobs.queue_timeout", within(c.Jobs.QueueTimeout, time.Second, 365*24*time.Hour), "want 1s..1 year"},
		{"jobs.queue_age_max", within(c.Jobs.QueueAgeMax, 0, 365*24*time.Hour), "want 0s..1 year"},
		{"jobs.priority_step", within(c.Jobs.PriorityStep, time.Second, 30*24*time.Hour), "want 1s..30 days"},
		{"traces.percent", c.Traces.Percent >= 0 && c.Traces.Percent <= 100, "want 0..100"},
		{"quotas.queued", c.Quotas.Queued >= 0, "want 0 or more"},
		{"quotas.running", c.Quotas.Running >= 0, "want 0 or more"},
		{"quotas.megapixel_seconds_per_hour", c.Quotas.MegapixelSecondsPerHour >= 0, "want 0 or more"},
		{"quotas.stored_bytes", c.Quotas.StoredBytes >= 0, "want 0 or more"},
		{"worker.num_replicas", c.Worker.NumReplicas >= 1 && c.Worker.NumReplicas <= 64, "want 1..64"},
		{"worker.max_jobs", c.Worker.MaxJobs >= 0, "want 0 or more"},
		{"worker.stall_timeout", within(c.Worker.StallTimeout, time.Second, 24*time.Hour), "want 1s..24h"},
		{"worker.load_timeout", within(c.Worker.LoadTimeout, time.Second, 24*time.Hour), "want 1s..24h"},
		{"worker.run_timeout", within(c.Worker.RunTimeout, time.Second, 7*24*time.Hour), "want 1s..7 days"},
		{"livekit.url", mediaURL(c.LiveKit.URL), "want ws://host:port or wss://host"},
		{"livekit.public_url", mediaURL(c.LiveKit.PublicURL), "want ws://host:port or wss://host"},
		{"livekit.token_ttl", within(c.LiveKit.TokenTTL, 10*time.Second, 24*time.Hour), "want 10s..24h"},
		{"stream.num_workers", c.Stream.NumWorkers >= 1 && c.Stream.NumWorkers <= 64, "want 1..64"},
		{"stream.max_sessions_per_worker", sessionsPerWorker(c.Stream.MaxSessionsPerWorker), "want 1..64 or auto"},
		{"stream.queue_size", c.Stream.QueueSize >= 0 && c.Stream.QueueSize <= 10_000, "want 0..10000"},
		{"stream.control_idle_timeout", within(c.Stream.ControlIdleTimeout, 0, time.Hour), "want 0s..1h"},
		{"stream.session_timeout", within(c.Stream.SessionTimeout, time.Second, 12*time.Hour), "want 1s..12h"},
		{"stream.controller_timeout", within(c.Stream.ControllerTimeout, time.Second, time.Hour), "want 1s..1h"},
		{"stream.room_empty_timeout", within(c.Stream.RoomEmptyTimeout, time.Second, time.Hour), "want 1s..1h"},
		{"stream.sessions_per_tenant_max", c.Stream.SessionsPerTenantMax >= 1, "want 1 or more"},
		{"outbound.allow_networks", fine(c.Outbound.Networks()), "want networks such as 10.1.0.0/16"},
		{"outbound.allow_ports", fine(c.Outbound.Ports()), "want ports from 1 to 65535"},
		{"webhooks.per_tenant_max", c.Webhooks.PerTenantMax >= 1 && c.Webhooks.PerTenantMax <= 1000, "want 1..1000"},
		{"webhooks.secret_keys", fine(c.Webhooks.Keys()), "want base64 of 32 bytes, as openssl rand -base64 32 makes it"},
		{"models.default", c.Models.Default != "", "want a pipeline's name"},
	}
	for _, check := range checks {
		if !check.ok {
			return fmt.Errorf("%w: %s: %s", ErrInvalid, check.key, check.say)
		}
	}
	return nil
}

// ArtifactsDir is the file driver's directory.
func (c Config) ArtifactsDir() string {
	if c.Storage.Dir != "" {
		return c.Storage.Dir
	}
	return filepath.Join(c.DataDir, "artifacts")
}

// TempDir is where unfinished files live.
func (c Config) TempDir() string {
	if c.Worker.TempDir != "" {
		return c.Worker.TempDir
	}
	return filepath.Join(c.DataDir, "tmp")
}

func readSecretFiles(c *Config) error {
	if c.Storage.S3.SecretKeyFile != "" {
		secret, err := secretFrom(c.Storage.S3.SecretKeyFile)
		if err != nil {
			return err
		}
		c.Storage.S3.SecretKey = secret
	}
	if c.LiveKit.APISecretFile != "" {
		secret, err := secretFrom(c.LiveKit.APISecretFile)
		if err != nil {
			return err
		}
		c.LiveKit.APISecret = secret
	}
	if c.Webhooks.SecretKeysFile != "" {
		text, err := secretFrom(c.Webhooks.SecretKeysFile)
		if err != nil {
			return err
		}
		if c.Webhooks.SecretKeys = strings.Fields(text); len(c.Webhooks.SecretKeys) == 0 {
			return fmt.Errorf("%w: webhooks.secret_keys_file: it has no key", ErrInvalid)
		}
	}
	if c.Redis.PasswordFile == "" {
		return nil
	}
	secret, err := secretFrom(c.Redis.PasswordFile)
	if err != nil {
		return err
	}
	u, err := url.Parse(c.Redis.URL)
	if err != nil {
		return fmt.Errorf("%w: redis.url: no URL", ErrInvalid)
	}
	u.User = url.UserPassword(u.User.Username(), secret)
	c.Redis.URL = u.String()
	return nil
}

func secretFrom(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%w: secret file: %w", ErrInvalid, err)
	}
	return strings.TrimRight(string(b), "\r\n"), nil
}

func within(d, low, high time.Duration) bool { return d >= low && d <= high }

func plain(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

func redisURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "redis" || u.Scheme == "rediss" || u.Scheme == "unix")
}

// mediaURL takes what LiveKit's clients take; empty is no media server.
func mediaURL(s string) bool {
	u, err := url.Parse(s)
	return s == "" || err == nil && u.Host != "" && slices.Contains([]string{"ws", "wss", "http", "https"}, u.Scheme)
}

func sessionsPerWorker(s string) bool {
	n, err := strconv.Atoi(s)
	return s == "auto" || err == nil && n >= 1 && n <= 64
}

// loopback says whether nobody outside this machine reaches addr; empty is nobody at all.
func loopback(addr string) bool {
	if addr == "" {
		return true
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
