package bench_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"

	"telefuser/internal/bench"
	"telefuser/internal/devstack"
)

func needProc(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc on this system")
	}
}

func TestWatchSeesMemoryAndTime(t *testing.T) {
	needProc(t)
	const size = 64 << 20
	var kept []byte
	results, err := bench.Watch(t.Context(), []bench.Process{{Name: "self", PID: os.Getpid()}}, func(context.Context) error {
		kept = make([]byte, size)
		before, err := bench.ReadUsage(os.Getpid())
		if err != nil {
			return err
		}
		for {
			for i := range kept {
				kept[i]++
			}
			now, err := bench.ReadUsage(os.Getpid())
			if err != nil || now.CPUSeconds >= before.CPUSeconds+0.05 {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(kept)
	r := results[0]
	if r.Name != "self" || r.CPUSeconds < 0.05 || r.RSSBytesMax-r.RSSBytesStart < size*9/10 {
		t.Errorf("%+v, want 0.05 s of CPU and %d bytes of growth", r, size)
	}
}

func TestWatchAnswersTheWorksError(t *testing.T) {
	needProc(t)
	boom := errors.New("boom")
	_, err := bench.Watch(t.Context(), []bench.Process{{Name: "self", PID: os.Getpid()}}, func(context.Context) error { return boom })
	if !errors.Is(err, boom) {
		t.Errorf("%v, want the work's error", err)
	}
}

func TestNoProcess(t *testing.T) {
	if _, err := bench.ReadUsage(-1); !errors.Is(err, bench.ErrNoProcess) {
		t.Errorf("%v, want ErrNoProcess", err)
	}
}

func TestRedisMemoryIsRead(t *testing.T) {
	redis, err := devstack.StartRedis(t.Context(), t.TempDir(), devstack.RedisOptions{})
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip("redis-server is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Stop()
	n, err := bench.RedisMemory(t.Context(), redis.Addr)
	if err != nil || n < 100<<10 || n > 100<<20 {
		t.Errorf("%d bytes, %v: an empty server holds about a megabyte", n, err)
	}
}
