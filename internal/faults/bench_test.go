package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"telefuser/internal/devstack"
)

const (
	// bucket is the S3 bucket of every bench.
	bucket = "videos"
	// readyTimeout bounds the start of anything, jobTimeout the way of one small job on a busy machine with room for attempts that are lost.
	readyTimeout = 5 * time.Minute
	jobTimeout   = 5 * time.Minute
	// redisFsync: what Redis has answered is in its file, and what is in its file outlives its process. Only the machine's own death needs more, and a disk that others use
	// would hold Redis up for seconds.
	redisFsync = "no"
	// benchLease is how long a claim is trusted on a bench, unless the flag says otherwise: as long as the product's own.
	benchLease = 10 * time.Second
)

// options shape a bench; the zero value is two APIs and two workers.
type options struct {
	// workers is how many there are: 2. Each has so many replicas of its engine: 1.
	workers  int
	replicas int
	// apiArgs and workerArgs come on top of what the bench sets itself.
	apiArgs    []string
	workerArgs []string
	// program is the binary: the one of this tree.
	program string
}

// bench is the production topology in small, every cable of it in our hands.
type bench struct {
	// t is the test that works with it now, owner the one at whose end it goes.
	t       *testing.T
	owner   *testing.T
	opts    options
	dir     string
	redis   *devstack.Redis
	s3      *devstack.S3Server
	gate    *gate
	rdb     *redis.Client
	apis    []*node
	workers []*node
	ledger  *ledger
	// hooks is nil where the program sends none; hookEnv is what its processes need for them.
	hooks   *hooks
	hookEnv []string
	// failed is set when a test failed on it.
	failed bool
	// fresh is what processes use that have done nothing yet.
	fresh map[string][2]float64
	keys  atomic.Int64
}

// node is one place for a process of ours: its cables, its log, and the process that runs there now.
type node struct {
	*process
	name  string
	redis *link
	s3    *link
	log   *output
	args  []string
	env   []string
	// client speaks to it, where it is an API.
	client *client
}

// startBench runs the topology until the test ends. It skips the test where a server is not installed, and says how to get it.
func startBench(t *testing.T, o options) *bench {
	t.Helper()
	b := startBenchFor(t, t, o)
	t.Cleanup(func() { b.showLogsOfFailed(t) })
	return b
}

// startBenchFor is startBench for a sub-test whose bench stays for others of the owner.
func startBenchFor(t, owner *testing.T, o options) *bench {
	t.Helper()
	if o.workers == 0 {
		o.workers = 2
	}
	if o.replicas == 0 {
		o.replicas = 1
	}
	if o.program == "" {
		o.program = program(t)
	}
	b := &bench{t: t, owner: owner, opts: o}
	b.makeDir()
	stands := false
	defer func() {
		if !stands {
			b.showLogs(t)
		}
	}()
	b.startServers()
	b.hookEnv = b.hookSettings()
	for i := range 2 {
		b.apis = append(b.apis, b.newAPI(i))
	}
	for i := range o.workers {
		b.workers = append(b.workers, b.newWorker(i))
	}
	b.ledger = newLedger([]*client{b.apis[0].client, b.apis[1].client})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); b.ledger.run(ctx) }()
	owner.Cleanup(func() {
		stop()
		<-ended
		for _, n := range b.nodes() {
			if n.process != nil {
				n.kill()
			}
		}
	})
	for _, n := range b.nodes() {
		b.start(n)
	}
	b.awaitReady()
	b.awaitWorkers(o.workers)
	if b.hooks != nil {
		b.register()
	}
	b.fresh = b.usage()
	stands = true
	return b
}

// nodes are all places, APIs first.
func (b *bench) nodes() []*node { return append(append([]*node{}, b.apis...), b.workers...) }

func (b *bench) startServers() {
	b.t.Helper()
	var err error
	b.redis, err = devstack.StartRedis(b.ctx(), filepath.Join(b.dir, "redis"), devstack.RedisOptions{AppendFsync: redisFsync})
	b.must(err)
	b.owner.Cleanup(b.redis.Kill)
	b.s3, err = devstack.StartVersityGW(b.ctx(), b.bucketsDir())
	b.must(err)
	b.owner.Cleanup(b.s3.Kill)
	b.must(b.s3.AddBucket(bucket))
	b.gate = startGate(b.owner, b.s3.Endpoint)
	b.rdb = redis.NewClient(&redis.Options{Addr: b.redis.Addr, MaxRetries: 5})
	b.owner.Cleanup(func() { _ = b.rdb.Close() })
}

// must ends the test where the bench itself does not work, and skips it where a program is not installed.
func (b *bench) must(err error) {
	b.t.Helper()
	if errors.Is(err, devstack.ErrNoTool) {
		b.t.Skip(err)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) bucketsDir() string { return filepath.Join(b.dir, "s3") }

func (b *bench) newNode(name string) *node {
	b.t.Helper()
	n := &node{name: name, redis: b.link(b.redis.Addr), s3: b.link(b.gate.addr), log: &output{}}
	n.env = []string{
		"TELEFUSER_REDIS_URL=redis://" + n.redis.addr + "/0",
		"TELEFUSER_STORAGE_DRIVER=s3",
		"TELEFUSER_STORAGE_S3_BUCKET=" + bucket,
		"TELEFUSER_STORAGE_S3_ENDPOINT=http://" + n.s3.addr,
		"TELEFUSER_STORAGE_S3_ACCESS_KEY=" + b.s3.AccessKey,
		"TELEFUSER_STORAGE_S3_SECRET_KEY=" + b.s3.SecretKey,
		"TELEFUSER_HTTP_AUTH=off",
		"TELEFUSER_JOBS_LEASE_TTL=" + lease.String(),
		"TELEFUSER_MODELS_DEFAULT=scripted",
		"TELEFUSER_DATA_DIR=" + filepath.Join(b.dir, name),
	}
	n.env = append(n.env, b.hookEnv...)
	return n
}

func (b *bench) newAPI(i int) *node {
	b.t.Helper()
	n := b.newNode("api" + strconv.Itoa(i))
	port := b.freePort()
	n.client = newClient("http://127.0.0.1:" + strconv.Itoa(port))
	n.args = append([]string{"serve", "--port", strconv.Itoa(port), "--shutdown-grace", "1s"}, b.opts.apiArgs...)
	return n
}

func (b *bench) newWorker(i int) *node {
	b.t.Helper()
	n := b.newNode("worker" + strconv.Itoa(i))
	n.args = append([]string{"worker", "scripted", "--fault-dir", filepath.Join(b.dir, n.name), "--grace", "20s", "--num-replicas", strconv.Itoa(b.opts.replicas), "--debug-addr", "127.0.0.1:" + strconv.Itoa(b.freePort())},
		b.opts.workerArgs...)
	b.must(os.MkdirAll(filepath.Join(b.dir, n.name), 0o700))
	return n
}

// start starts the process of a place that has none, with further arguments for this one alone.
func (b *bench) start(n *node, more ...string) {
	b.t.Helper()
	p, err := launch(n.name, b.opts.program, append(append([]string{}, n.args...), more...), n.env, b.dir, n.log)
	b.must(err)
	n.process = p
}

// restart replaces a process that is gone or is to go: killed, and started again.
func (b *bench) restart(n *node, more ...string) {
	b.t.Helper()
	n.kill()
	b.start(n, more...)
}

// awaitReady waits until both APIs say that they are ready.
func (b *bench) awaitReady() {
	b.t.Helper()
	for _, n := range b.apis {
		waitFor(b.t, readyTimeout, n.name+" to be ready", func() bool {
			if n.ended() {
				b.t.Fatalf("%s ended:\n%s", n.name, n.log.remarkable(3000))
			}
			return n.client.ready(b.ctx()) == nil
		})
	}
}

// awaitWorkers waits until so many workers have an engine and take jobs.
func (b *bench) awaitWorkers(want int) {
	b.t.Helper()
	waitFor(b.t, readyTimeout, strconv.Itoa(want)+" workers to take jobs", func() bool {
		ready := 0
		for _, w := range b.workers {
			if !w.ended() && b.metric(w, "telefuser_worker_ready_slots") == float64(b.opts.replicas) {
				ready++
			}
		}
		return ready >= want
	})
}

// work hands the bench to a test: whole, whatever the test before left behind.
func (b *bench) work(t *testing.T) {
	t.Helper()
	b.t = t
	b.gate.set(nil)
	for _, n := range b.nodes() {
		n.redis.heal()
		n.s3.heal()
	}
	for pid, restart := range map[int]func(context.Context) error{b.redis.PID(): b.redis.Restart, b.s3.PID(): b.s3.Restart} {
		_ = syscall.Kill(pid, syscall.SIGCONT)
		if syscall.Kill(pid, 0) != nil {
			b.must(restart(context.Background()))
		}
	}
	b.must(b.rdb.ConfigSet(b.ctx(), "maxmemory", "0").Err())
	for _, n := range b.nodes() {
		_ = n.cmd.Process.Signal(syscall.SIGCONT)
		if n.ended() {
			b.start(n)
		}
	}
	b.awaitReady()
	b.awaitWorkers(len(b.workers))
}

// ctx is the context of the test that works with the bench. It goes on while that test cleans up.
func (b *bench) ctx() context.Context { return context.WithoutCancel(b.t.Context()) }

// freePort is a loopback port that is free at this moment.
func (b *bench) freePort() int {
	b.t.Helper()
	port, err := devstack.FreePort()
	b.must(err)
	return port
}

// makeDir makes the bench's temporary directory, whose path leaves room for the name of a Unix socket.
func (b *bench) makeDir() {
	b.t.Helper()
	dir, err := os.MkdirTemp("", "tf-")
	b.must(err)
	b.dir = dir
	b.owner.Cleanup(func() {
		// Engines of killed workers may write their last while the folder goes.
		if !holdsWithin(5*time.Second, func() bool { return os.RemoveAll(dir) == nil }) {
			b.owner.Errorf("temporary directory %s stays", dir)
		}
	})
}

// create makes a video through any API, as a client that comes again with its key until it is answered, and notes it.
func (b *bench) create(f fields, want ...string) *story {
	b.t.Helper()
	s, err := b.tryCreate(f, want...)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// tryCreate is create for those who may not end the test. A refusal that is not polite is an objection.
func (b *bench) tryCreate(f fields, want ...string) (*story, error) {
	n := b.keys.Add(1)
	header := keyHeader(fmt.Sprintf("bench-%d", n))
	request := fmt.Sprintf("bench-request-%d", n)
	header.Set("X-Request-Id", request)
	var v video
	var err error
	turn := int(n)
	accepted := holdsWithin(jobTimeout, func() bool {
		turn++
		v, err = b.apis[turn%2].client.post(context.Background(), f, header)
		if status := statusOf(err); status != 0 && !refusedPolitely(err) {
			b.ledger.objection("create: %v", err)
		}
		return err == nil
	})
	if !accepted {
		return nil, fmt.Errorf("create: %w", err)
	}
	words, _ := f["prompt"].(string)
	s := b.ledger.accept(v, words, want...)
	s.request = request
	s.picture = fmt.Sprintf("%v of %v frames, seed %v", f["size"], f["num_frames"], f["seed"])
	return s, nil
}

// delete deletes a video through an API. One that is refused must be there as before.
func (b *bench) delete(c *client, s *story) error {
	b.ledger.remove(s.id)
	err := c.delete(b.ctx(), s.id)
	if err != nil {
		b.ledger.keep(s.id)
	}
	return err
}

// await waits until a video has ended, and answers it.
func (b *bench) await(s *story) video {
	b.t.Helper()
	var end *video
	waitFor(b.t, jobTimeout, s.id+" ("+s.words+") to end", func() bool {
		b.ledger.mu.Lock()
		defer b.ledger.mu.Unlock()
		end = s.end
		return end != nil
	})
	return *end
}

// progress waits until a video is under way at the progress.
func (b *bench) progress(s *story, atLeast int) {
	b.t.Helper()
	waitFor(b.t, jobTimeout, fmt.Sprintf("%s to be at %d %%", s.id, atLeast), func() bool {
		b.ledger.mu.Lock()
		defer b.ledger.mu.Unlock()
		n := len(s.seen)
		return n > 0 && s.seen[n-1].status == "in_progress" && s.seen[n-1].progress >= atLeast
	})
}

// begun waits until an attempt at a video begins, and answers where and when.
func (b *bench) begun(s *story, attempt int) (*node, time.Time) {
	b.t.Helper()
	var at *node
	var when time.Time
	waitFor(b.t, jobTimeout, fmt.Sprintf("attempt %d of %s", attempt, s.id), func() bool {
		for _, w := range b.workers {
			for _, l := range w.log.lines("attempt begins") {
				if l.JobID == s.id && l.Attempt == attempt {
					at, when = w, l.Time
					return true
				}
			}
		}
		return false
	})
	return at, when
}

// other is the worker that this one is not.
func (b *bench) other(w *node) *node {
	if w == b.workers[0] {
		return b.workers[1]
	}
	return b.workers[0]
}

// unavailable holds an answer to what a client may meet while Redis is away.
func (b *bench) unavailable(what string, err error) {
	b.t.Helper()
	if statusOf(err) != http.StatusServiceUnavailable || !refusedPolitely(err) {
		b.t.Errorf("%s: %v, want 503 with retry-after", what, err)
	}
}
