package api_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"telefuser/internal/devstack"
)

// redisAddr is the one redis-server of this suite; every stack has a prefix of its own in it.
var redisAddr string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "api-redis-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	server, err := devstack.StartRedis(context.Background(), dir, devstack.RedisOptions{AppendFsync: "no"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Stop()
	redisAddr = server.Addr
	return m.Run()
}
