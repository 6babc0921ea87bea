package main

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"telefuser/internal/config"
	"telefuser/internal/devstack"
)

// TestEvictingRedisIsWarnedOf runs what every role runs against a Redis that may evict records.
func TestEvictingRedisIsWarnedOf(t *testing.T) {
	redis, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{})
	if err != nil {
		t.Skipf("needs a redis-server: %v", err)
	}
	defer redis.Stop()
	conn, err := net.Dial(redis.Network, redis.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprint(conn, "CONFIG SET maxmemory-policy allkeys-lru\r\n")
	if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || answer != "+OK\r\n" {
		t.Fatal(answer, err)
	}
	var logs bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logs, nil))
	p, err := openParts(t.Context(), config.Config{
		Redis: config.Redis{URL: "redis://" + redis.Addr, Prefix: "tf"}, Storage: config.Storage{Driver: "file", Dir: t.TempDir()},
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close(t.Context())
	warnPolicy(t.Context(), p.records, log)
	if !strings.Contains(logs.String(), "noeviction") {
		t.Errorf("the log says %q", logs.String())
	}
}
