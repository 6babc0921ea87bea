package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"telefuser/internal/devstack"
)

// bucket is the S3 bucket of every stack.
const bucket = "videos"

// stackOptions shape a stack; the zero value is one API without keys and one worker, over an S3 server.
type stackOptions struct {
	apis    int
	workers int
	// apiArgs and workerArgs come on top of what a stack sets itself.
	apiArgs    []string
	workerArgs []string
	// env holds further settings of all processes.
	env []string
	// noWorkers starts none; a test starts them when it wants.
	noWorkers bool
	// syncAlways makes Redis sync before it answers. Otherwise it may hold back writes for up to two seconds while the disk is busy with the last sync,
	// and a kill loses those: no test that kills it can do without.
	syncAlways bool
}

// stack is the production topology in small: redis-server with AOF, an S3 server, APIs behind a balancer, workers.
type stack struct {
	t        *testing.T
	opts     stackOptions
	dir      string
	redis    *devstack.Redis
	s3       *devstack.S3Server
	env      []string
	apis     []*process
	apiPorts []int
	workers  []*process
	balancer *balancer
	// client speaks through the balancer.
	client *client
	secrets
}

// startStack runs a stack until the test ends. It skips the test where a server is not installed, and says how to get it.
func startStack(t *testing.T, o stackOptions) *stack {
	t.Helper()
	s := &stack{t: t, opts: o, dir: shortDir(t)}
	s.startServers()
	s.env = append(s.settings(), o.env...)
	for range max(o.apis, 1) {
		s.apiPorts = append(s.apiPorts, freePort(t))
		s.apis = append(s.apis, nil)
		s.startAPI(len(s.apis) - 1)
	}
	s.balancer = startBalancer(t, s.apiURLs())
	s.client = newClient(s.balancer.url)
	if !o.noWorkers {
		for i := range max(o.workers, 1) {
			s.workers = append(s.workers, s.startWorker("worker"+strconv.Itoa(i)))
		}
	}
	for i := range s.apis {
		s.awaitReady(i)
	}
	t.Cleanup(func() { s.check(t) })
	return s
}

func (s *stack) startServers() {
	s.t.Helper()
	var err error
	redisOptions := devstack.RedisOptions{}
	if s.opts.syncAlways {
		redisOptions.AppendFsync = "always"
	}
	s.redis, err = devstack.StartRedis(s.t.Context(), filepath.Join(s.dir, "redis"), redisOptions)
	if errors.Is(err, devstack.ErrNoTool) {
		s.t.Skip(err)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.redis.Kill)
	s.s3, err = devstack.StartVersityGW(s.t.Context(), s.bucketsDir())
	if errors.Is(err, devstack.ErrNoTool) {
		s.t.Skip(err)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.s3.Kill)
	if err := s.s3.AddBucket(bucket); err != nil {
		s.t.Fatal(err)
	}
	s.plant(s.s3.SecretKey)
}

// settings are the variables of every process.
func (s *stack) settings() []string {
	return []string{
		"TELEFUSER_REDIS_URL=redis://" + s.redis.Addr + "/0",
		"TELEFUSER_STORAGE_DRIVER=s3",
		"TELEFUSER_STORAGE_S3_BUCKET=" + bucket,
		"TELEFUSER_STORAGE_S3_ENDPOINT=" + s.s3.Endpoint,
		"TELEFUSER_STORAGE_S3_ACCESS_KEY=" + s.s3.AccessKey,
		"TELEFUSER_STORAGE_S3_SECRET_KEY=" + s.s3.SecretKey,
		"TELEFUSER_HTTP_AUTH=off",
	}
}

func (s *stack) bucketsDir() string { return filepath.Join(s.dir, "s3") }

// startAPI starts the API with the index again, at its own port.
func (s *stack) startAPI(i int) {
	s.t.Helper()
	name := "api" + strconv.Itoa(i)
	args := append([]string{"serve", "--port", strconv.Itoa(s.apiPorts[i]), "--data-dir", filepath.Join(s.dir, name)}, s.opts.apiArgs...)
	s.apis[i] = start(s.t, spawn{name: name, path: program(s.t), args: args, env: s.env, dir: s.dir})
	s.watch(s.apis[i])
}

// startWorker starts a worker. One that is started under the name of a dead one takes over its data directory, as after a restart.
func (s *stack) startWorker(name string, args ...string) *process {
	s.t.Helper()
	all := append([]string{"worker", "terrain", "--data-dir", filepath.Join(s.dir, name)}, s.opts.workerArgs...)
	p := start(s.t, spawn{name: name, path: program(s.t), args: append(all, args...), env: s.env, dir: s.dir})
	s.watch(p)
	return p
}

// telefuser runs an operator's command against the stack and answers what it prints.
func (s *stack) telefuser(args ...string) string {
	s.t.Helper()
	env := append([]string{"TELEFUSER_DATA_DIR=" + filepath.Join(s.dir, "operator"), "TELEFUSER_LOG_LEVEL=warn"}, s.env...)
	return run(s.t, spawn{name: "telefuser", path: program(s.t), args: args, env: env, dir: s.dir})
}

func (s *stack) apiURLs() []string {
	var urls []string
	for _, port := range s.apiPorts {
		urls = append(urls, fmt.Sprintf("http://127.0.0.1:%d", port))
	}
	return urls
}

// api is a client of one API, past the balancer.
func (s *stack) api(i int) *client {
	c := newClient(s.apiURLs()[i])
	c.key = s.client.key
	return c
}

// awaitReady waits until the API says that it is ready and the balancer knows.
func (s *stack) awaitReady(i int) {
	s.t.Helper()
	waitFor(s.t, readyTimeout, s.apis[i].name+" to be ready", func() bool {
		if s.apis[i].ended() {
			s.t.Fatalf("%s ended: %v\n%s", s.apis[i].name, s.apis[i].err, s.apis[i].stderr.tail(4000))
		}
		_, err := s.api(i).call(s.t.Context(), http.MethodGet, "/v1/service/ready", nil, nil, nil)
		return err == nil && s.balancer.servers[i].ready.Load()
	})
}

// awaitWorkers waits until so many workers have reported.
func (s *stack) awaitWorkers(n int) {
	s.t.Helper()
	waitFor(s.t, readyTimeout, strconv.Itoa(n)+" workers to be up", func() bool {
		var status struct {
			Pool []struct {
				Status string `json:"status"`
			} `json:"pool"`
		}
		_, err := s.client.call(s.t.Context(), http.MethodGet, "/v1/service/status", nil, nil, &status)
		return err == nil && len(status.Pool) >= n
	})
}

// redisClient speaks to the stack's Redis.
func (s *stack) redisClient() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.redis.Addr})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// attempts is how often a job was claimed.
func (s *stack) attempts(id string) int {
	s.t.Helper()
	n, ok := s.allAttempts()[id]
	if !ok {
		s.t.Fatalf("jobs list does not show %s", id)
	}
	return n
}

// allAttempts is how often each job was claimed, by the operator's list.
func (s *stack) allAttempts() map[string]int {
	s.t.Helper()
	attempts := map[string]int{}
	for line := range strings.Lines(s.telefuser("jobs", "list", "--limit", "100")) {
		columns := strings.Fields(line)
		if len(columns) < 3 || !strings.HasPrefix(columns[0], "video_") {
			continue
		}
		n, err := strconv.Atoi(columns[2])
		if err != nil {
			s.t.Fatalf("jobs list: %q", line)
		}
		attempts[columns[0]] = n
	}
	return attempts
}

// objects lists the files of the bucket by key, uploads that are under way included.
func (s *stack) objects() []string {
	s.t.Helper()
	root := filepath.Join(s.bucketsDir(), bucket)
	return files(s.t, root)
}

// files lists the files under a folder by their path from there; a folder that is not there has none.
func files(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		found = append(found, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// configure changes a setting of Redis while the stack runs.
func (s *stack) configure(ctx context.Context, name, value string) {
	s.t.Helper()
	if err := s.redisClient().ConfigSet(ctx, name, value).Err(); err != nil {
		s.t.Fatal(err)
	}
}
