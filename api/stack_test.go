package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/api"
	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/workers/contract"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// stack is a server on a real socket over a real Redis and a real file store.
type stack struct {
	url    string
	server *api.Server
	jobs   *jobs.Store
	store  storage.Store
	client *http.Client
	// storeDir and tempDir are watched for leftovers.
	storeDir, tempDir string
	// prefix begins the names of its keys in Redis.
	prefix string
	logs   *syncBuffer
	stop   func() error
}

// setup is what a test may change before the stack starts.
type setup struct {
	api   api.Config
	deps  api.Deps
	jobs  jobs.Config
	redis string
	// around, where set, puts something between the API and its jobs.
	around func(api.Jobs) api.Jobs
}

var prefixes atomic.Int64

func newStack(t testing.TB, change ...func(*setup)) *stack {
	t.Helper()
	s := &stack{storeDir: t.TempDir(), tempDir: t.TempDir(), logs: &syncBuffer{}}
	in := setup{redis: redisAddr,
		api:  api.Config{Auth: api.AuthOff, ShutdownGrace: -1, ShutdownTimeout: 2 * time.Second, TempDir: s.tempDir},
		jobs: jobs.Config{Prefix: fmt.Sprintf("t%d", prefixes.Add(1))},
		deps: api.Deps{Contracts: pipeline.Contracts(), DecodeImage: decodePicture, Registry: prometheus.NewRegistry()},
	}
	in.deps.Logger = slog.New(slog.NewJSONHandler(s.logs, nil))
	for _, c := range change {
		c(&in)
	}
	s.prefix = in.jobs.Prefix
	s.connect(t, &in)
	var err error
	if s.server, err = api.New(in.api, in.deps); err != nil {
		t.Fatal(err)
	}
	s.listen(t, in.api.TLSCertFile != "")
	s.client = &http.Client{Transport: checked(t, s.url), Timeout: 2 * waitMax}
	return s
}

// connect makes the real rooms below the API, where the test brought none.
func (s *stack) connect(t testing.TB, in *setup) {
	t.Helper()
	client, err := jobs.Connect(t.Context(), jobs.RedisConfig{Addr: in.redis, ReplyTimeout: 500 * time.Millisecond})
	if err != nil && !errors.Is(err, jobs.ErrUnavailable) {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if s.jobs, err = jobs.New(in.jobs, client, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.jobs.Close() })
	if s.store, err = storage.NewFile(storage.FileConfig{Dir: s.storeDir}); err != nil {
		t.Fatal(err)
	}
	if in.deps.Jobs == nil {
		in.deps.Jobs = s.jobs
	}
	if in.around != nil {
		in.deps.Jobs = in.around(in.deps.Jobs)
	}
	if in.deps.Store == nil {
		in.deps.Store = s.store
	}
}

func (s *stack) listen(t testing.TB, secure bool) {
	t.Helper()
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + ln.Addr().String()
	if secure {
		s.url = "https://" + ln.Addr().String()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1) // one: the result of Run
	go func() { done <- s.server.Run(ctx, ln) }()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
}

// decodePicture is the decoder of the program.
func decodePicture(ctx context.Context, r io.Reader) (api.Picture, error) {
	img, err := media.DecodeImage(ctx, r, media.ImageLimits{MeasureAbove: 1920 * 1088})
	for from, to := range map[error]error{media.ErrImageType: api.ErrImageType, media.ErrImageTooLarge: api.ErrImageTooLarge, media.ErrImageCorrupt: api.ErrImageCorrupt} {
		if errors.Is(err, from) {
			return api.Picture{}, fmt.Errorf("%w: %w", to, err)
		}
	}
	if err != nil {
		return api.Picture{}, err
	}
	if img.RGB == nil {
		return api.Picture{Width: img.Width, Height: img.Height}, nil
	}
	png, err := media.EncodePNG(img)
	return api.Picture{Width: img.Width, Height: img.Height, PNG: png}, err
}

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// request sends one request and reads the answer.
func (s *stack) request(t testing.TB, method, path string, body io.Reader, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: read: %v", method, path, err)
	}
	return reply{res.StatusCode, res.Header, text}
}

// postJSON sends text or anything that marshals.
func (s *stack) postJSON(t testing.TB, path string, body any, header ...string) reply {
	t.Helper()
	text, isText := body.(string)
	if !isText {
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		text = string(raw)
	}
	return s.request(t, http.MethodPost, path, strings.NewReader(text), append([]string{"Content-Type", "application/json"}, header...)...)
}

// object is the answer as JSON; any other status than the wanted one fails the test.
func (r reply) object(t testing.TB, status int) map[string]any {
	t.Helper()
	if r.status != status {
		t.Fatalf("status %d, want %d: %s", r.status, status, r.body)
	}
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader(r.body))
	dec.UseNumber()
	if err := dec.Decode(&object); err != nil {
		t.Fatalf("no JSON object: %v: %s", err, r.body)
	}
	return object
}

// problem is the inside of the envelope.
func (r reply) problem(t testing.TB, status int) map[string]any {
	t.Helper()
	body, ok := r.object(t, status)["error"].(map[string]any)
	if !ok {
		t.Fatalf("no error object: %s", r.body)
	}
	return body
}

// create makes a video of the smallest kind and answers its id.
func (s *stack) create(t testing.TB, fields map[string]any) map[string]any {
	t.Helper()
	all := map[string]any{"prompt": "a lake"}
	for name, value := range fields {
		all[name] = value
	}
	return s.postJSON(t, "/v1/videos", all).object(t, 200)
}

// completed makes a video and waits until the worker has finished it.
func (s *stack) completed(t testing.TB, fields map[string]any) map[string]any {
	t.Helper()
	id, _ := s.create(t, fields)["id"].(string)
	return s.await(t, id, "completed")
}

// await polls until the video has a state.
func (s *stack) await(t testing.TB, id, status string) map[string]any {
	t.Helper()
	var last map[string]any
	eventually(t, "video "+id+" becomes "+status, func() bool {
		last = s.request(t, http.MethodGet, "/v1/videos/"+id, nil).object(t, 200)
		return last["status"] == status
	})
	return last
}

// waitMax is how long a test waits for what must come; a busy machine needs some of it.
const waitMax = 30 * time.Second

// eventually waits for a condition, with a deadline.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(waitMax)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("it did not come true: %s", what)
		case <-tick.C:
		}
	}
}

// objects are the names of all files in the store, without the driver's own.
func (s *stack) objects(t testing.TB) []string {
	t.Helper()
	list, err := s.store.List(t.Context(), "", "", storage.ListLimitMax)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(list))
	for i, object := range list {
		names[i] = object.Key
	}
	return names
}

// noTempFiles fails where an upload left something.
func (s *stack) noTempFiles(t testing.TB) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.tempDir, "*"))
	if err != nil || len(files) > 0 {
		t.Errorf("temporary files are left: %v %v", files, err)
	}
}

// with answers a change of the setup that turns keys on.
func withKeys(in *setup) { in.api.Auth = api.AuthKeys }

// key makes an API key of a tenant.
func (s *stack) key(t testing.TB, tenant string) string {
	t.Helper()
	secret, _, err := s.jobs.CreateKey(t.Context(), tenant, "test")
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + secret
}

// syncBuffer takes log lines of many goroutines.
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

// terrain is the contract that most tests ask for.
func terrain(t testing.TB) contract.Contract {
	t.Helper()
	for _, c := range pipeline.Contracts() {
		if c.Name == "terrain" {
			return c
		}
	}
	t.Fatal("there is no terrain")
	return contract.Contract{}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
