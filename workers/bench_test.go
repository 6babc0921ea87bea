package workers_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/workers"
)

// patience is how long a test waits for what must happen.
const patience = 40 * time.Second

var benches atomic.Int64

// bench is the world of one test: records, objects, folders, and the workers that it starts.
type bench struct {
	setup
	t       *testing.T
	records *jobs.Store
	client  jobs.Client
	files   storage.Store
	// objects is what in-process workers store into; tests may put a bad store in front of files.
	objects storage.Store
	log     *syncBuffer
}

// syncBuffer is a log that is written and read at once.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "tf") //nolint:usetesting // a short name, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	n := benches.Add(1)
	b := &bench{t: t, log: &syncBuffer{}, setup: setup{
		Redis: shared.Addr, Jobs: jobs.Config{Prefix: fmt.Sprintf("w%d", n), LeaseTTL: 3 * time.Second, RenewEvery: time.Second, ReapEvery: 200 * time.Millisecond,
			ZombieTTL: 2 * time.Second},
		Pipeline: "scripted", Owner: "first", Objects: filepath.Join(dir, "objects"), Temp: filepath.Join(dir, "tmp"),
		Runtime: filepath.Join(dir, "run"), Engines: 1, Stall: 2 * time.Second,
	}}
	if b.records, b.client, err = b.setup.records(b.logger()); err != nil {
		t.Fatal(err)
	}
	if b.files, err = storage.NewFile(storage.FileConfig{Dir: b.Objects}); err != nil {
		t.Fatal(err)
	}
	b.objects = b.files
	t.Cleanup(func() {
		err := errors.Join(b.records.Close(), b.client.Close())
		if err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(b.log.String())
		}
	})
	return b
}

func (b *bench) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// background runs something until the returned function is called or the test ends; it answers what run answered.
func (b *bench) background(run func(context.Context) error) (stop func() error) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() {
			cancel()
			select {
			case err = <-done:
			case <-time.After(patience):
				b.t.Error("it does not end")
			}
		})
		return err
	}
	b.t.Cleanup(func() {
		if err := stop(); err != nil {
			b.t.Log("ended with:", err)
		}
	})
	return stop
}

// caretakers run the reaper and a janitor.
func (b *bench) caretakers() {
	b.t.Helper()
	j, err := workers.NewJanitor(workers.JanitorConfig{Every: 100 * time.Millisecond, Log: b.logger()}, b.records, b.files)
	if err != nil {
		b.t.Fatal(err)
	}
	b.background(b.records.RunReaper)
	b.background(j.Run)
}

// worker starts an in-process worker; change may adapt it.
func (b *bench) worker(change func(*workers.Config)) (w *workers.Worker, stop func() error) {
	b.t.Helper()
	cfg, err := b.config(b.logger())
	if err != nil {
		b.t.Fatal(err)
	}
	if change != nil {
		change(&cfg)
	}
	if w, err = workers.New(cfg, b.records, b.objects); err != nil {
		b.t.Fatal(err)
	}
	return w, b.background(w.Run)
}

// process starts a worker process.
func (b *bench) process(owner string, dieAt workers.Point) *exec.Cmd {
	b.t.Helper()
	s := b.setup
	s.Owner, s.DieAt = owner, dieAt
	raw, err := json.Marshal(s)
	if err != nil {
		b.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command(exe, "worker", string(raw))
	cmd.Stderr = b.log
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// spec is a small job; the scripted pipeline reads its prompt.
func (b *bench) spec(prompt string) jobs.Spec {
	return jobs.Spec{Pipeline: b.Pipeline, Model: b.Pipeline, Task: "t2v", Prompt: prompt, Width: 64, Height: 48, FPS: 16, Frames: 45, Seconds: "3", Seed: 7,
		RequestID: "req_test"}
}

func (b *bench) create(spec jobs.Spec) string {
	b.t.Helper()
	job, _, err := b.records.Create(b.t.Context(), jobs.CreateRequest{Tenant: "acme", Spec: spec})
	if err != nil {
		b.t.Fatal(err)
	}
	return job.ID
}

func (b *bench) get(id string) jobs.Job {
	b.t.Helper()
	job, err := b.records.Get(b.t.Context(), "acme", id)
	if err != nil {
		b.t.Fatal(err)
	}
	return job
}

// wait looks until ok says so.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !ok() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// ended waits for the job's end.
func (b *bench) ended(id string) jobs.Job {
	b.t.Helper()
	wait(b.t, "the end of "+id, func() bool { return b.get(id).State.Terminal() })
	return b.get(id)
}

// completed waits for the job's result and checks the artifact.
func (b *bench) completed(id string) jobs.Job {
	b.t.Helper()
	job := b.ended(id)
	if job.State != jobs.StateCompleted {
		b.t.Fatalf("%s is %s: %+v", id, job.State, job.Failure)
	}
	if job.Progress != 100 || job.Result.Frames < 1 {
		b.t.Errorf("progress %d, %+v", job.Progress, job.Result)
	}
	raw := b.read(job.Result.VideoKey)
	sum := sha256.Sum256(raw)
	if hex.EncodeToString(sum[:]) != job.Result.SHA256 || int64(len(raw)) != job.Result.SizeBytes {
		b.t.Error("the artifact is not what the record says")
	}
	return job
}

func (b *bench) read(key string) []byte {
	b.t.Helper()
	body, _, err := b.files.Open(b.t.Context(), key, 0, -1)
	if err != nil {
		b.t.Fatal(key, err)
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err != nil {
		b.t.Fatal(err)
	}
	return raw
}

// keys lists the objects of a job.
func (b *bench) keys(id string) []string {
	b.t.Helper()
	page, err := b.files.List(b.t.Context(), "videos/"+id+"/", "", 100)
	if err != nil {
		b.t.Fatal(err)
	}
	var keys []string
	for _, o := range page {
		keys = append(keys, strings.TrimPrefix(o.Key, "videos/"+id+"/"))
	}
	return keys
}

// onlyArtifact waits until the job has the objects of its one attempt and nothing else.
func (b *bench) onlyArtifact(id string, attempt int) {
	b.t.Helper()
	var want []string
	for _, name := range []string{"manifest.json", "spritesheet.jpg", "thumbnail.webp", "video.mp4"} {
		want = append(want, strconv.Itoa(attempt)+"/"+name)
	}
	var got []string
	wait(b.t, "only the artifact of attempt "+strconv.Itoa(attempt), func() bool {
		got = b.keys(id)
		return strings.Join(got, " ") == strings.Join(want, " ")
	})
}

// noTemp waits until no attempt has files any more.
func (b *bench) noTemp() {
	b.t.Helper()
	wait(b.t, "empty temporary folder", func() bool {
		left, err := os.ReadDir(b.Temp)
		return len(left) == 0 && (err == nil || errors.Is(err, os.ErrNotExist))
	})
}

// probe asks ffprobe about a stored video: codec, pixel format, size, rate and number of frames.
func (b *bench) probe(key string) string {
	b.t.Helper()
	return b.ffprobe(key, "-count_frames", "-select_streams", "v", "-show_entries", "stream=codec_name,pix_fmt,width,height,r_frame_rate,nb_read_frames")
}

// comment asks ffprobe what a stored video says of itself.
func (b *bench) comment(key string) string {
	b.t.Helper()
	return b.ffprobe(key, "-show_entries", "format_tags=comment")
}

func (b *bench) ffprobe(key string, args ...string) string {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "probe.mp4")
	if err := os.WriteFile(path, b.read(key), 0o600); err != nil {
		b.t.Fatal(err)
	}
	out, err := exec.Command("ffprobe", append(append([]string{"-v", "error"}, args...), "-of", "csv=p=0", path)...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
