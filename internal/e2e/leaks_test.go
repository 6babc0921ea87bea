package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"telefuser/internal/bench"
	"telefuser/internal/bench/viewer"
)

// How much is made before what is left of it is counted. LEAKS_LONG is the scale of the goal.
const (
	leakJobs, leakSessions         = 60, 4
	leakJobsLong, leakSessionsLong = 10_000, 1_000
	// So many of each are under way at the same time; there is room for twice as many sessions, since one that ends holds its place for a moment.
	leakJobsAtOnce, leakSessionsAtOnce = 4, 2
	// leakRetention is how long a finished video is kept.
	leakRetention = "3s"
	// leakWait bounds how long everything may take to be gone.
	leakWait = 2 * time.Minute
)

// The goal: what there may be more of afterwards.
const (
	leakSlack, leakKeysSlack = 5, 10
	leakRSSMax               = 1.2
)

// remains are what videos and sessions could leave behind.
type remains struct {
	goroutines, files, engineFiles, keys int
	objects, temporary                   []string
	rssBytes                             int64
}

// leaky is everything in one process, on a Redis and an S3 server that the test looks into.
type leaky struct {
	t      *testing.T
	dev    *process
	live   liveClient
	videos *client
	rdb    *redis.Client
	dir    string
}

// TestNothingIsLeftOver makes videos and live sessions, waits until their retention is over, and counts.
func TestNothingIsLeftOver(t *testing.T) {
	jobs, sessions, long := leakJobs, leakSessions, inherited("LEAKS_LONG") != ""
	if long {
		jobs, sessions = leakJobsLong, leakSessionsLong
	}
	var args []string
	if long {
		args = []string{"--ffmpeg", standIn(t)}
	}
	l := startLeaky(t, args...)
	l.work(20, 2)
	before := l.settled(func(r remains) bool { return len(r.objects)+len(r.temporary) == 0 })
	l.work(jobs, sessions)
	after := l.settled(func(r remains) bool {
		return r.goroutines <= before.goroutines+leakSlack && r.files <= before.files+leakSlack && r.engineFiles <= before.engineFiles+leakSlack && r.keys <= before.keys+leakKeysSlack &&
			len(r.objects)+len(r.temporary) == 0
	})
	t.Logf("before %d videos and %d sessions: %+v", jobs, sessions, before)
	t.Logf("after them: %+v", after)
	if long && float64(after.rssBytes) > leakRSSMax*float64(before.rssBytes) {
		t.Errorf("the process has %d MiB, before it had %d", after.rssBytes>>20, before.rssBytes>>20)
	}
	l.dev.stop(t)
}

func startLeaky(t *testing.T, more ...string) *leaky {
	t.Helper()
	env := toolsEnv(t)
	s := &stack{t: t, dir: shortDir(t)}
	s.startServers()
	l := &leaky{t: t, rdb: s.redisClient(), dir: s.dir}
	args := []string{"dev", "--port", "0", "--data-dir", filepath.Join(s.dir, "data"), "--retention", leakRetention, "--max-sessions-per-worker", strconv.Itoa(2 * leakSessionsAtOnce), "--metrics-public"}
	l.dev = start(t, spawn{name: "dev", path: program(t), env: append(env, s.settings()...), dir: s.dir, args: append(args, more...)})
	url := lineOf(t, l.dev, "ready")
	lineOf(t, l.dev, "live")
	l.live, l.videos = liveClient{base: url}, newClient(url)
	return l
}

// work makes so many videos and sessions, some at a time; each session is watched.
func (l *leaky) work(videos, sessions int) {
	l.t.Helper()
	for made := 0; made < videos; {
		var ids []string
		for range min(leakJobsAtOnce, videos-made) {
			ids = append(ids, l.videos.create(l.t, small(fmt.Sprint("flight ", made))).ID)
			made++
		}
		for i, id := range ids {
			l.videos.await(l.t, id)
			if i == 0 {
				l.videos.content(l.t, id, "video")
			}
		}
	}
	for made := 0; made < sessions; {
		watched := map[string]*viewer.Viewer{}
		for range min(leakSessionsAtOnce, sessions-made) {
			ticket := l.live.must(l.t, 200, "POST", "/v1/stream/sessions", fields{"identity": "pilot", "prompt": "islands", "size": "192x128"})
			watched[ticket["session_id"].(string)] = watch(l.t, ticket)
			made++
		}
		for id, v := range watched {
			awaitFrames(l.t, v, 2)
			l.live.must(l.t, 200, "DELETE", "/v1/stream/sessions/"+id, nil)
			v.Close()
		}
	}
}

// settled waits until what is left is as wanted, and answers it.
func (l *leaky) settled(wanted func(remains) bool) remains {
	l.t.Helper()
	var r remains
	if !holdsWithin(leakWait, func() bool { r = l.count(); return wanted(r) }) {
		l.t.Errorf("in the end there is %+v", r)
	}
	return r
}

// ofAnEngine is for what an engine that runs keeps.
func ofAnEngine(name string) bool {
	return strings.HasPrefix(name, "engines/") && (strings.HasSuffix(name, "/.lock") || strings.HasSuffix(name, "/engine.sock"))
}

// count looks at everything now. Keys of Redis that have an end of their own, such as the records of ended sessions, are not left over; that they have one is what is looked at.
func (l *leaky) count() remains {
	l.t.Helper()
	ctx := l.t.Context()
	r := remains{goroutines: int(metric(l.t, l.live, "go_goroutines", "")), files: descriptors(l.t, l.dev.cmd.Process.Pid)}
	for _, pid := range bench.Children(l.dev.cmd.Process.Pid) {
		r.engineFiles += descriptors(l.t, pid)
	}
	if usage, err := bench.ReadUsage(l.dev.cmd.Process.Pid); err == nil {
		r.rssBytes = usage.RSSBytes
	}
	keys, err := l.rdb.Keys(ctx, "*").Result()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, key := range keys {
		ttl, err := l.rdb.TTL(ctx, key).Result()
		if err != nil {
			l.t.Fatal(err)
		}
		if ttl == -1 {
			r.keys++
		}
	}
	r.objects = slices.DeleteFunc(files(l.t, filepath.Join(l.dir, "s3", bucket)), func(name string) bool { return strings.HasPrefix(name, ".check") })
	r.temporary = slices.DeleteFunc(files(l.t, filepath.Join(l.dir, "data", "tmp")), ofAnEngine)
	return r
}
