package e2e_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"telefuser/internal/bench/viewer"
	"telefuser/internal/devstack"
)

// toolsEnv hands the folder of tools to a child; the test is skipped where livekit-server is in none.
func toolsEnv(t *testing.T) []string {
	t.Helper()
	path, err := devstack.LookTool("livekit-server")
	if errors.Is(err, devstack.ErrNoTool) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return []string{"TELEFUSER_TOOLS=" + filepath.Dir(path)}
}

// lineOf waits for a line of a process's standard output and answers what follows the word.
func lineOf(t *testing.T, p *process, word string) string {
	t.Helper()
	var rest string
	waitFor(t, readyTimeout, p.name+" to say "+word, func() bool {
		if p.ended() {
			t.Fatalf("%s ended: %v\n%s", p.name, p.err, p.stderr.tail(4000))
		}
		for line := range strings.Lines(p.stdout.String()) {
			if after, found := strings.CutPrefix(line, word+" "); found && strings.HasSuffix(after, "\n") {
				rest = strings.TrimSpace(after)
				return true
			}
		}
		return false
	})
	return rest
}

// liveClient speaks HTTP to live sessions.
type liveClient struct {
	base string
}

// do sends a request and reads the answer's JSON.
func (c liveClient) do(t *testing.T, method, path string, body any) (int, map[string]any) {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, c.base+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatalf("%s %s: %s", method, path, raw)
	}
	return res.StatusCode, object
}

// must is do where only one status will do.
func (c liveClient) must(t *testing.T, status int, method, path string, body any) map[string]any {
	t.Helper()
	got, object := c.do(t, method, path, body)
	if got != status {
		t.Fatalf("%s %s: %d %v", method, path, got, object)
	}
	return object
}

// watch joins with an answer of the API.
func watch(t *testing.T, ticket map[string]any) *viewer.Viewer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	v, err := viewer.Join(ctx, ticket["livekit_url"].(string), ticket["token"].(string), viewer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// awaitFrames wants that many frames in all.
func awaitFrames(t *testing.T, v *viewer.Viewer, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	if err := v.WaitFrames(ctx, n); err != nil {
		t.Fatalf("%d frames of %d: %v", v.Stats().Frames, n, err)
	}
}

// flownBeyond is for awaitStatus: beyond holds for the chunk that was sent from further than so far on an axis of the pose, and reached is how far that was.
func flownBeyond(axis string) (reached *float64, beyond func(than float64) func(_, data map[string]any) bool) {
	reached = new(float64)
	return reached, func(than float64) func(_, data map[string]any) bool {
		return func(_, data map[string]any) bool {
			pose, _ := data["pose"].(map[string]any)
			at, _ := pose[axis].(float64)
			if data["stage"] != "chunk_sent" || at <= than {
				return false
			}
			*reached = at
			return true
		}
	}
}

// awaitStatus reads statuses until one holds.
func awaitStatus(t *testing.T, v *viewer.Viewer, what string, holds func(message, data map[string]any) bool) {
	t.Helper()
	timer := time.NewTimer(readyTimeout)
	defer timer.Stop()
	for {
		select {
		case m := <-v.Messages():
			var message map[string]any
			if m.Topic != "tf.status" || json.Unmarshal(m.Payload, &message) != nil {
				continue
			}
			data, _ := message["data"].(map[string]any)
			if holds(message, data) {
				return
			}
		case <-v.Gone():
			t.Fatalf("the room was lost before %s", what)
		case <-timer.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestAWorldThatObeysKeys flies through a session of `telefuser dev`, with a second page that watches.
func TestAWorldThatObeysKeys(t *testing.T) {
	env, dir := toolsEnv(t), shortDir(t)
	dev := start(t, spawn{name: "dev", path: program(t), env: env, dir: dir,
		args: []string{"dev", "--port", "0", "--data-dir", filepath.Join(dir, "data"), "--log-format", "json"}})
	c := liveClient{base: lineOf(t, dev, "ready")}
	media := lineOf(t, dev, "live")
	ticket := c.must(t, 200, "POST", "/v1/stream/sessions", fields{"identity": "pilot", "prompt": "islands", "config": fields{"size": "320x192"}})
	if ticket["livekit_url"] != media {
		t.Errorf("clients are sent to %v, the media server is %s", ticket["livekit_url"], media)
	}
	session := "/v1/stream/sessions/" + ticket["session_id"].(string)
	pilot := watch(t, ticket)
	awaitFrames(t, pilot, 1)
	send := func(v *viewer.Viewer, message fields) {
		t.Helper()
		text, err := json.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Send("tf.control", text); err != nil {
			t.Fatal(err)
		}
	}
	send(pilot, fields{"type": "control_state", "id": "k1", "controls": []string{"w", "j"}})
	awaitStatus(t, pilot, "a chunk with w and j", func(_, data map[string]any) bool {
		pose, _ := data["pose"].(map[string]any)
		z, _ := pose["z"].(float64)
		yaw, _ := pose["yaw"].(float64)
		return data["stage"] == "chunk_sent" && z > 0 && yaw != 0
	})

	guest := watch(t, c.must(t, 200, "POST", session+"/tokens", fields{"identity": "guest"}))
	awaitFrames(t, guest, 20)
	waitFor(t, readyTimeout, "two clients in the room", func() bool {
		return c.must(t, 200, "GET", session, nil)["participant_count"] == 2.0
	})
	if health := c.must(t, 200, "GET", "/v1/stream/health", nil); health["livekit_connected"] != true || health["workers_busy"] != 1.0 {
		t.Errorf("on the air, health is %v", health)
	}

	send(pilot, fields{"type": "stop", "id": "s1"})
	waitFor(t, readyTimeout, "the session to end", func() bool { return c.must(t, 200, "GET", session, nil)["status"] == "closed" })
	if ended := c.must(t, 200, "GET", session, nil); ended["reason"] != "stopped" || ended["facts"].(map[string]any)["published_frames"].(float64) < 20 {
		t.Errorf("in the end it is %v", ended)
	}
	if status, answer := c.do(t, "POST", session+"/tokens", fields{"identity": "late"}); status != 409 || answer["detail"] != "session_ended" {
		t.Errorf("a token of an ended session: %d %v", status, answer)
	}
	waitFor(t, readyTimeout, "the worker to be idle", func() bool { return c.must(t, 200, "GET", "/v1/stream/health", nil)["workers_idle"] == 1.0 })
	dev.stop(t)
}

// TestStreamServeAsScriptsStartIt runs the command line that is in people's scripts, on a machine that may have no GPU, against a media server in its
// development mode.
func TestStreamServeAsScriptsStartIt(t *testing.T) {
	toolsEnv(t)
	dir := shortDir(t)
	media, err := devstack.StartLiveKit(t.Context(), filepath.Join(dir, "livekit"), devstack.LiveKitOptions{APIKey: "devkey", APISecret: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(media.Stop)
	serve := start(t, spawn{name: "stream-serve", path: program(t), dir: dir, env: []string{"TF_MODEL_ZOO_PATH=/path/to/model_zoo", "CUDA_VISIBLE_DEVICES=0,1,2,3"}, args: []string{"stream-serve", "terrain", "--livekit-url", media.URL,
		"--livekit-api-key", "devkey", "--livekit-api-secret", "secret", "--num-workers", "1", "--worker-gpu-map", "0", "--max-sessions-per-worker", "2",
		"--port", "0", "--control-idle-timeout", "10", "--skip-validation", "--data-dir", filepath.Join(dir, "data")}})
	c := liveClient{base: lineOf(t, serve, "ready")}
	res, err := http.Get(c.base + "/v1/service/health")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	health, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{`"ready":true`, `"workers_idle":1`, `"workers_failed":0`, `"livekit_connected":false`} {
		if !bytes.Contains(health, []byte(word)) {
			t.Errorf("health lacks %s: %s", word, health)
		}
	}
	if curl, err := exec.LookPath("curl"); err == nil { // as a script waits for it
		run(t, spawn{name: "script", path: "sh", args: []string{"-ec", `for word in '"ready":true' '"workers_idle":1' '"workers_failed":0'; do
			"$0" -fsS --retry 20 --retry-connrefused "$1/v1/service/health" | grep -q "$word"; done`, curl, c.base}})
	}
	// The workload of the scripts, shortened: bounded, lossless, confirmed by the client.
	ticket := c.must(t, 200, "POST", "/v1/stream/sessions", fields{"identity": "aiperf-1", "prompt": "islands",
		"config": fields{"task": "i2v", "fps": 16, "frame_num": 45, "chunk_size": 4, "delivery_mode": "lossless", "size": "192x128"}})
	client := watch(t, ticket)
	var frames float64
	awaitStatus(t, client, "done", func(message, _ map[string]any) bool {
		frames, _ = message["published_frames"].(float64)
		return message["type"] == "done"
	})
	awaitFrames(t, client, 45)
	ack, err := json.Marshal(fields{"type": "delivery_ack", "published_frames": client.Stats().Frames})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Send("tf.control", ack); err != nil {
		t.Fatal(err)
	}
	session := "/v1/stream/sessions/" + ticket["session_id"].(string)
	waitFor(t, readyTimeout, "the session to end", func() bool { return c.must(t, 200, "GET", session, nil)["ended_at"] != nil })
	if ended := c.must(t, 200, "GET", session, nil); ended["outcome"] != "verified" || ended["reason"] != "finished" || frames != 45 {
		t.Errorf("of %v frames: %v", frames, ended)
	}
	if status, _ := c.do(t, "DELETE", session, nil); status != 200 {
		t.Errorf("DELETE of an ended session: %d", status)
	}
	serve.stop(t)
}

// TestASessionOutlivesItsEngine kills the engine under a flight that began with a picture, and wants the flight to go on where it was. The operator's commands
// see it and end it.
func TestASessionOutlivesItsEngine(t *testing.T) {
	toolsEnv(t)
	dir := shortDir(t)
	media, err := devstack.StartLiveKit(t.Context(), filepath.Join(dir, "livekit"), devstack.LiveKitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(media.Stop)
	redis, err := devstack.StartRedis(t.Context(), filepath.Join(dir, "redis"), devstack.RedisOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Stop)
	store := []string{"--redis-url", "redis://" + redis.Addr + "/0", "--data-dir", filepath.Join(dir, "data"), "--log-format", "json"}
	serve := start(t, spawn{name: "stream-serve", path: program(t), dir: dir, env: []string{"TELEFUSER_LIVEKIT_API_SECRET=" + media.APISecret},
		args: append([]string{"stream-serve", "terrain", "--livekit-url", media.URL, "--livekit-api-key", media.APIKey, "--port", "0"}, store...)})
	c := liveClient{base: lineOf(t, serve, "ready")}
	look := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture(t, 192, 128))
	ticket := c.must(t, 200, "POST", "/v1/stream/sessions", fields{"identity": "pilot", "prompt": "islands", "image": look})
	id := ticket["session_id"].(string)
	pilot := watch(t, ticket)
	awaitFrames(t, pilot, 1)
	holdKeys(t, pilot, "w")
	depth, deeper := flownBeyond("z")
	awaitStatus(t, pilot, "the flight to be on its way", deeper(3))
	pid := enginePID(t, serve)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, pilot, "the flight to go on", deeper(*depth+1))
	if now := c.must(t, 200, "GET", "/v1/stream/sessions/"+id, nil); now["pipeline_session_id"] == id+".1" || now["status"] != "running" {
		t.Errorf("after its engine died it is %v", now)
	}
	if *depth > 60 {
		t.Errorf("the flight went on at %v, as if it were another one", *depth)
	}

	list := operator(t, dir, append([]string{"sessions", "list"}, store...)...)
	if !strings.Contains(list, id) || !strings.Contains(list, "running") || strings.Contains(list, "islands") {
		t.Errorf("the list is\n%s", list)
	}
	for range 2 {
		if said := operator(t, dir, append([]string{"sessions", "end", id}, store...)...); said != id+" closed\n" {
			t.Errorf("sessions end said %q", said)
		}
	}
	waitFor(t, readyTimeout, "the room to close", func() bool {
		select {
		case <-pilot.Gone():
			return true
		default:
			return false
		}
	})
	if now := c.must(t, 200, "GET", "/v1/stream/sessions/"+id, nil); now["reason"] != "deleted" {
		t.Errorf("ended by the operator it is %v", now)
	}
	serve.stop(t)
}

// holdKeys says again and again which keys are held, as a browser does.
func holdKeys(t *testing.T, v *viewer.Viewer, keys ...string) {
	t.Helper()
	message, err := json.Marshal(fields{"type": "control_state", "controls": keys})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var holder sync.WaitGroup
	holder.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = v.Send("tf.control", message) // a room that is lost is seen elsewhere
			case <-v.Gone():
				return
			case <-done:
				return
			}
		}
	})
	t.Cleanup(func() {
		close(done)
		holder.Wait()
	})
}

// enginePID is the process id of the engine that was loaded last.
func enginePID(t *testing.T, p *process) int {
	t.Helper()
	pid := 0
	for line := range strings.Lines(p.stderr.String()) {
		var entry struct {
			Message string `json:"msg"`
			PID     int    `json:"engine_pid"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Message == "engine is loaded" {
			pid = entry.PID
		}
	}
	if pid == 0 {
		t.Fatal("the log names no engine")
	}
	return pid
}

// operator runs a command to its end and answers what it printed.
func operator(t *testing.T, dir string, args ...string) string {
	t.Helper()
	p := start(t, spawn{name: args[0], path: program(t), args: args, dir: dir})
	p.waitEnd(t, readyTimeout)
	if p.err != nil {
		t.Fatalf("%v ended with %v:\n%s", args, p.err, p.stderr.tail(2000))
	}
	return p.stdout.String()
}
