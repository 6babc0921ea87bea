package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"telefuser/internal/config"
	"telefuser/internal/devstack"
)

// clinic is the servers that a doctor visits, and the arguments that name them.
type clinic struct {
	redis *devstack.Redis
	s3    *devstack.S3Server
	args  map[string]string
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	dir := t.TempDir()
	redis, err := devstack.StartRedis(t.Context(), filepath.Join(dir, "redis"), devstack.RedisOptions{})
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Kill)
	s3, err := devstack.StartVersityGW(t.Context(), filepath.Join(dir, "s3"))
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s3.Kill)
	if err := s3.AddBucket("videos"); err != nil {
		t.Fatal(err)
	}
	return &clinic{redis: redis, s3: s3, args: map[string]string{
		"redis-url": "redis://" + redis.Addr + "/0", "storage": "s3", "s3-endpoint": s3.Endpoint, "s3-bucket": "videos", "s3-access-key": s3.AccessKey, "s3-secret-key": s3.SecretKey,
		"data-dir": filepath.Join(dir, "data"), "port": "0", "skip": "media,gpu",
	}}
}

// visit runs the doctor with some arguments replaced and answers its findings by check.
func (c *clinic) visit(t *testing.T, changes map[string]string) (map[string]finding, string, error) {
	t.Helper()
	args := []string{"--json"}
	for flag, value := range c.args {
		if _, changed := changes[flag]; !changed {
			args = append(args, "--"+flag+"="+value)
		}
	}
	for flag, value := range changes {
		args = append(args, "--"+flag+"="+value)
	}
	var out bytes.Buffer
	cmd := newDoctorCommand()
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	var list []finding
	if jsonErr := json.Unmarshal(out.Bytes(), &list); jsonErr != nil {
		t.Fatalf("%v in %q (%v)", jsonErr, out.String(), err)
	}
	found := map[string]finding{}
	for _, f := range list {
		found[f.Check] = f
	}
	return found, out.String(), err
}

// wantFailed holds that just these checks fail, each with something to do and a word in what it says.
func wantFailed(t *testing.T, found map[string]finding, err error, want map[string]string) {
	t.Helper()
	if (err != nil) != (len(want) > 0) {
		t.Errorf("the command answers %v", err)
	}
	for check, f := range found {
		word, expected := want[check]
		if (f.Verdict == verdictFail) != expected {
			t.Errorf("%s: %+v", check, f)
		}
		if expected && (f.Do == "" || !strings.Contains(f.Says+" "+f.Do, word)) {
			t.Errorf("%s says %q; %q, want %q in it", check, f.Says, f.Do, word)
		}
	}
	for check := range want {
		if _, ok := found[check]; !ok {
			t.Errorf("nothing was said of %s", check)
		}
	}
}

func TestDoctorFindsAHealthyServiceHealthy(t *testing.T) {
	c := newClinic(t)
	found, said, err := c.visit(t, nil)
	wantFailed(t, found, err, nil)
	for _, check := range []string{"redis", "redis.clock", "redis.policy", "redis.aof", "storage.put", "storage.get", "storage.range", "storage.list", "storage.delete", "storage.multipart", "temp"} {
		if found[check].Verdict != verdictOK {
			t.Errorf("%s: %+v", check, found[check])
		}
	}
	if strings.Contains(said, c.s3.SecretKey) {
		t.Error("the secret key was printed")
	}
	if _, err := os.Stat(c.args["data-dir"]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the doctor left a folder behind: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(c.args["data-dir"]), "s3", "*", "probe", "*")); err != nil || len(left) > 0 {
		t.Errorf("the doctor left %v behind, %v", left, err)
	}
}

// TestDoctorMasksWhatOthersRepeat: the words of servers are shown, whatever they hold.
func TestDoctorMasksWhatOthersRepeat(t *testing.T) {
	var c config.Config
	c.Redis.URL, c.Storage.S3.SecretKey, c.LiveKit.APISecret = "redis://u:canary%2Bone@h:1/0", "canary-two", "canary-three"
	p := patient{cfg: c}
	p.fail("redis", "not canary+one", "canary%%2Bone, canary-two\nand canary-three")
	if f := p.findings[0]; strings.Contains(f.Says+f.Do, "canary") || f.Says != "********, ******** and ********" {
		t.Errorf("%+v", f)
	}
}

func TestDoctorOnRedis(t *testing.T) {
	c := newClinic(t)
	set := func(t *testing.T, name, value, back string) {
		t.Helper()
		redisSays(t, c.redis, "CONFIG SET "+name+" "+value)
		t.Cleanup(func() { redisSays(t, c.redis, "CONFIG SET "+name+" "+back) })
	}
	t.Run("it evicts", func(t *testing.T) {
		set(t, "maxmemory-policy", "allkeys-lru", "noeviction")
		found, _, err := c.visit(t, nil)
		wantFailed(t, found, err, map[string]string{"redis.policy": "set maxmemory-policy to noeviction"})
	})
	t.Run("it forgets", func(t *testing.T) {
		set(t, "appendonly", "no", "yes")
		found, _, err := c.visit(t, nil)
		wantFailed(t, found, err, map[string]string{"redis.aof": "set appendonly to yes"})
	})
	t.Run("it is full", func(t *testing.T) {
		set(t, "maxmemory", "1mb", "0")
		found, _, err := c.visit(t, nil)
		wantFailed(t, found, err, map[string]string{"redis.memory": "raise maxmemory"})
	})
	t.Run("it wants another password", func(t *testing.T) {
		redisSays(t, c.redis, "ACL SETUSER boss on >canary-right-word ~* &* +@all")
		found, said, err := c.visit(t, map[string]string{"redis-url": "redis://boss:canary-wrong-word@" + c.redis.Addr + "/0"})
		wantFailed(t, found, err, map[string]string{"redis": "password"})
		if strings.Contains(said+fmt.Sprint(err), "canary") {
			t.Errorf("a password was printed: %s", said)
		}
	})
	t.Run("it is no primary", func(t *testing.T) {
		redisSays(t, c.redis, "REPLICAOF 127.0.0.1 1")
		defer redisSays(t, c.redis, "REPLICAOF NO ONE")
		found, _, err := c.visit(t, nil)
		wantFailed(t, found, err, map[string]string{"redis.role": "primary"})
	})
	t.Run("its user sees no settings", func(t *testing.T) {
		redisSays(t, c.redis, "ACL SETUSER blind on >word ~* &* +@all -info -config")
		found, _, err := c.visit(t, map[string]string{"redis-url": "redis://blind:word@" + c.redis.Addr + "/0"})
		wantFailed(t, found, err, nil)
		if found["redis.policy"].Verdict != verdictNote {
			t.Errorf("%+v", found["redis.policy"])
		}
	})
	t.Run("it is away", func(t *testing.T) {
		c.redis.Stop()
		found, _, err := c.visit(t, nil)
		wantFailed(t, found, err, map[string]string{"redis": "start Redis"})
	})
}

// redisSays sends one command of words without blanks and wants "+OK".
func redisSays(t *testing.T, r *devstack.Redis, command string) {
	t.Helper()
	conn, err := net.Dial(r.Network, r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	answer := make([]byte, 100)
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		t.Fatal(err)
	}
	n, err := conn.Read(answer)
	if err != nil || !strings.HasPrefix(string(answer[:n]), "+OK") {
		t.Fatalf("%s: %q, %v", command, answer[:n], err)
	}
}

func TestDoctorOnTheStore(t *testing.T) {
	c := newClinic(t)
	// refusing forwards all requests but those that it refuses as a store without that right does.
	refusing := func(t *testing.T, refuse func(r *http.Request) (code string)) string {
		target, err := url.Parse(c.s3.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host }}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			code := refuse(r)
			if code == "" {
				forward.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no %s</Message></Error>", code, c.s3.SecretKey)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	has := func(r *http.Request, key string) bool { return r.URL.Query().Has(key) }
	for name, tc := range map[string]struct {
		refuse func(r *http.Request) bool
		want   map[string]string
	}{
		"no put":       {func(r *http.Request) bool { return r.Method == "PUT" }, map[string]string{"storage.put": "s3:PutObject"}},
		"no delete":    {func(r *http.Request) bool { return r.Method == "DELETE" }, map[string]string{"storage.delete": "s3:DeleteObject"}},
		"no list":      {func(r *http.Request) bool { return has(r, "list-type") }, map[string]string{"storage.list": "s3:ListBucket"}},
		"no get":       {func(r *http.Request) bool { return r.Method == "GET" && has(r, "x-id") }, map[string]string{"storage.get": "s3:GetObject", "storage.range": "s3:GetObject"}},
		"no multipart": {func(r *http.Request) bool { return has(r, "uploads") }, map[string]string{"storage.multipart": "s3:ListBucketMultipartUploads"}},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := refusing(t, func(r *http.Request) string {
				if tc.refuse(r) {
					return "AccessDenied"
				}
				return ""
			})
			found, said, err := c.visit(t, map[string]string{"s3-endpoint": endpoint})
			wantFailed(t, found, err, tc.want)
			if strings.Contains(said, c.s3.SecretKey) {
				t.Error("the secret key was printed")
			}
		})
	}
	t.Run("another clock", func(t *testing.T) {
		found, _, err := c.visit(t, map[string]string{"s3-endpoint": refusing(t, func(*http.Request) string { return "RequestTimeTooSkewed" })})
		wantFailed(t, found, err, map[string]string{"storage.put": "NTP", "storage.multipart": "NTP", "storage.delete": "NTP"})
	})
	t.Run("another secret", func(t *testing.T) {
		found, said, err := c.visit(t, map[string]string{"s3-secret-key": "canary-wrong-word"})
		wantFailed(t, found, err, map[string]string{"storage.put": "secret_key", "storage.multipart": "secret_key", "storage.delete": "secret_key"})
		if strings.Contains(said, "canary") {
			t.Error("the secret key was printed")
		}
	})
	t.Run("no such bucket", func(t *testing.T) {
		found, _, err := c.visit(t, map[string]string{"s3-bucket": "nosuch"})
		wantFailed(t, found, err, map[string]string{"storage.put": "make the bucket", "storage.multipart": "make the bucket", "storage.delete": "make the bucket"})
	})
	t.Run("uploads that nobody finished", func(t *testing.T) {
		endpoint := refusing(t, func(*http.Request) string { return "" })
		target, err := url.Parse(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		many := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if has(r, "uploads") {
				fmt.Fprint(w, `<ListMultipartUploadsResult><Upload><Key>a</Key></Upload><Upload><Key>b</Key></Upload></ListMultipartUploadsResult>`)
				return
			}
			(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target); p.Out.Host = p.In.Host }}).ServeHTTP(w, r)
		}))
		t.Cleanup(many.Close)
		found, _, err := c.visit(t, map[string]string{"s3-endpoint": many.URL})
		wantFailed(t, found, err, nil)
		if f := found["storage.multipart"]; f.Verdict != verdictNote || !strings.Contains(f.Says, "2 unfinished") {
			t.Errorf("%+v", f)
		}
	})
	t.Run("a folder that is none", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		found, _, err := c.visit(t, map[string]string{"storage": "file", "storage-dir": file})
		wantFailed(t, found, err, map[string]string{"storage": "storage.dir"})
		found, _, err = c.visit(t, map[string]string{"storage": "file", "storage-dir": filepath.Join(t.TempDir(), "store")})
		wantFailed(t, found, err, nil)
	})
}

func TestDoctorOnTheMediaServer(t *testing.T) {
	c := newClinic(t)
	media, err := devstack.StartLiveKit(t.Context(), t.TempDir(), devstack.LiveKitOptions{})
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(media.Kill)
	args := map[string]string{"livekit-url": media.URL, "livekit-api-key": media.APIKey, "livekit-api-secret": media.APISecret}
	with := func(changes ...string) map[string]string {
		all := map[string]string{}
		for k, v := range args {
			all[k] = v
		}
		for i := 0; i < len(changes); i += 2 {
			all[changes[i]] = changes[i+1]
		}
		return all
	}
	found, said, err := c.visit(t, with())
	wantFailed(t, found, err, nil)
	if found["livekit"].Verdict != verdictOK || found["livekit.rooms"].Verdict != verdictOK || found["livekit.clock"].Verdict != verdictOK {
		t.Errorf("a healthy media server: %v", found)
	}
	if strings.Contains(said, media.APISecret) || strings.Contains(said, "access_token") {
		t.Error("a secret was printed")
	}
	found, said, err = c.visit(t, with("livekit-api-secret", "canary-wrong-word-of-32-characters-"))
	wantFailed(t, found, err, map[string]string{"livekit": "livekit.api_secret"})
	if strings.Contains(said, "canary") {
		t.Error("the secret was printed")
	}
	target, err := url.Parse(strings.Replace(media.URL, "ws", "http", 1))
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Date", time.Now().Add(-5*time.Minute).UTC().Format(http.TimeFormat))
			return
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(late.Close)
	found, _, err = c.visit(t, with("livekit-url", late.URL))
	wantFailed(t, found, err, map[string]string{"livekit.clock": "NTP"})
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/rtc") {
			return // whoever comes is let in
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(open.Close)
	found, _, err = c.visit(t, with("livekit-url", open.URL))
	wantFailed(t, found, err, map[string]string{"livekit.rooms": "room.auto_create"})
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/rtc") {
			panic(http.ErrAbortHandler)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(cut.Close)
	found, said, err = c.visit(t, with("livekit-url", cut.URL))
	wantFailed(t, found, err, map[string]string{"livekit": "start the media server"})
	if strings.Contains(said, "access_token") {
		t.Error("a token was printed")
	}
	media.Kill()
	found, said, err = c.visit(t, with())
	wantFailed(t, found, err, map[string]string{"livekit": "start the media server"})
	if strings.Contains(said, "access_token") {
		t.Error("a token was printed")
	}
}

func TestDoctorOnTheMachine(t *testing.T) {
	c := newClinic(t)
	c.args["skip"] = "redis,storage"
	withoutDriver(t)
	found, _, err := c.visit(t, nil)
	wantFailed(t, found, err, nil)
	if f := found["gpu"]; f.Verdict != verdictOK || !strings.Contains(f.Says, "no GPU") {
		t.Errorf("%+v", f)
	}
	if f := found["media.ffmpeg"]; !strings.Contains(f.Says, "encodes H.264 and WebP") || strings.Contains(f.Says, "unknown") {
		t.Errorf("%+v", f)
	}
	found, _, err = c.visit(t, map[string]string{"gpus": "0"})
	wantFailed(t, found, err, map[string]string{"gpu": "install the driver"})
	found, _, err = c.visit(t, map[string]string{"ffmpeg": "/no/such/ffmpeg"})
	wantFailed(t, found, err, map[string]string{"media.ffmpeg": "apt-get install ffmpeg"})
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	go func() { _ = http.Serve(taken, http.NotFoundHandler()) }()
	found, _, err = c.visit(t, map[string]string{"port": port})
	wantFailed(t, found, err, map[string]string{"ports.http": "http.port"})
	ours := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"healthy","ready":true}`) }))
	defer ours.Close()
	found, _, err = c.visit(t, map[string]string{"port": ours.URL[strings.LastIndex(ours.URL, ":")+1:]})
	wantFailed(t, found, err, nil)
	found, _, err = c.visit(t, map[string]string{"host": "0.0.0.0", "auth": "off"})
	wantFailed(t, found, err, map[string]string{"ports.auth": "asks for no key"})
	if os.Geteuid() != 0 {
		locked := t.TempDir()
		if err := os.Chmod(locked, 0o500); err != nil {
			t.Fatal(err)
		}
		found, _, err = c.visit(t, map[string]string{"temp-dir": filepath.Join(locked, "tmp")})
		wantFailed(t, found, err, map[string]string{"temp": "worker.temp_dir"})
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found, _, err = c.visit(t, map[string]string{"temp-dir": filepath.Join(file, "tmp")})
	wantFailed(t, found, err, map[string]string{"temp": "worker.temp_dir"})
}
