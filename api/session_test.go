package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"telefuser/api"
	"telefuser/streaming"
)

const (
	sessionsPath   = "/v1/stream/sessions"
	missingSession = "01234567-89ab-4def-8123-456789abcdef"
)

// session makes a session with the fewest fields and the given ones.
func (s *stack) session(t testing.TB, fields map[string]any, header ...string) reply {
	t.Helper()
	all := map[string]any{"identity": "me"}
	for name, value := range fields {
		all[name] = value
	}
	return s.postJSON(t, sessionsPath, all, header...)
}

func TestSessionsLife(t *testing.T) {
	var l live
	e := &liveEngine{}
	s := newStack(t, withSessions(t, &l))
	l.work(t, 1, e)
	before := float64(time.Now().UnixMilli()) / 1000
	got := s.session(t, map[string]any{"prompt": "islands", "config": map[string]any{"size": "96x64", "seed": 7, "speed": 2, "control_idle_timeout": 3, "shift": 10, "hud": false}}).object(t, 200)
	id, _ := got["session_id"].(string)
	room := "tf-world-" + id
	if len(id) != 36 || got["room"] != room || got["livekit_url"] != "ws://media.example" || got["worker_id"] != "test-worker-0" || got["queue_position"] != nil ||
		got["seed"] != json.Number("7") || got["token"] != room+" me controller 10m0s" {
		t.Errorf("the answer is %v", got)
	}
	if list, _ := got["ignored"].([]any); !slices.Equal(list, []any{"hud", "shift"}) {
		t.Errorf("ignored is %v", got["ignored"])
	}
	if ends := number(t, got["expires_at"]); ends < before+1700 || ends > before+1900 {
		t.Errorf("expires_at is %v, and now is %v", ends, before)
	}
	var now map[string]any
	eventually(t, "it runs", func() bool {
		now = s.request(t, "GET", sessionsPath+"/"+id, nil).object(t, 200)
		return now["status"] == "running" && now["participant_count"] == json.Number("1")
	})
	if now["pipeline"] != "terrain" || now["size"] != "96x64" || now["fps"] != json.Number("16") || now["num_frames"] != nil || now["prompt"] != "islands" || now["controller"] != "me" ||
		now["delivery_mode"] != "latest" || now["error"] != nil || now["reason"] != nil || now["worker_id"] != "test-worker-0" || now["pipeline_session_id"] != id+".1" {
		t.Errorf("while it runs it is %v", now)
	}
	spec := e.sessions()[0].Spec
	if spec.Seed != 7 || spec.Parameters["speed"] != 2.0 || spec.ControlIdleTimeout != 3*time.Second || spec.SessionTimeout != 30*time.Minute || spec.ImageKey != "" {
		t.Errorf("the engine got %+v", spec)
	}
	for range 2 { // ending it again is no error and changes nothing
		if gone := s.request(t, "DELETE", sessionsPath+"/"+id, nil).object(t, 200); gone["session_id"] != id || gone["status"] != "closed" {
			t.Errorf("DELETE: %v", gone)
		}
	}
	now = s.request(t, "GET", sessionsPath+"/"+id, nil).object(t, 200)
	if now["status"] != "closed" || now["reason"] != "deleted" || now["message"] == nil || now["ended_at"] == nil || now["error"] != nil {
		t.Errorf("in the end it is %v", now)
	}
	eventually(t, "its room is gone", func() bool { n, _ := l.rooms.count(); return n == 0 })
}

func number(t testing.TB, value any) float64 {
	t.Helper()
	n, ok := value.(json.Number)
	if !ok {
		t.Fatalf("%v is no number", value)
	}
	f, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAdmission fills the slot, the queue and the tenant's share.
func TestAdmission(t *testing.T) {
	var l live
	s := newStack(t, withSessions(t, &l, queued, func(c *streaming.Config) { c.SessionsPerTenantMax = 4 }))
	refused := func(code string) {
		t.Helper()
		r := s.session(t, nil)
		if p := r.problem(t, 429); p["code"] != code || p["type"] != "rate_limit_error" || r.object(t, 429)["detail"] != code {
			t.Errorf("%s, want %s", r.body, code)
		}
	}
	refused("no_capacity")
	l.work(t, 1, &liveEngine{})
	first := s.session(t, nil).object(t, 200)
	var waiting []string
	for position := range 2 {
		got := s.session(t, nil).object(t, 202)
		if got["status"] != "queued" || got["queue_position"] != json.Number([]string{"1", "2"}[position]) || got["worker_id"] != nil || got["expires_at"] != nil || got["token"] == "" {
			t.Errorf("the answer in the queue is %v", got)
		}
		waiting = append(waiting, got["session_id"].(string))
	}
	refused("queue_full")
	if r := s.session(t, nil); r.header.Get("Retry-After") == "" {
		t.Errorf("a full queue without retry-after: %v", r.header)
	}
	if there, _ := l.rooms.count(); there != 3 {
		t.Errorf("%d rooms are there for three sessions", there)
	}
	s.request(t, "DELETE", sessionsPath+"/"+first["session_id"].(string), nil).object(t, 200)
	eventually(t, "the next one runs", func() bool {
		return s.request(t, "GET", sessionsPath+"/"+waiting[0], nil).object(t, 200)["status"] == "running"
	})
	if last := s.request(t, "GET", sessionsPath+"/"+waiting[1], nil).object(t, 200); last["queue_position"] != json.Number("1") {
		t.Errorf("the one behind it is %v", last)
	}
	s.request(t, "DELETE", sessionsPath+"/"+waiting[1], nil).object(t, 200)
	eventually(t, "the room of one that never ran is gone", func() bool { n, _ := l.rooms.count(); return n == 1 })
}

func TestNoQueueNoIdleWorker(t *testing.T) {
	var l live
	s := newStack(t, withSessions(t, &l, func(c *streaming.Config) { c.SessionsPerTenantMax = 2 }))
	l.work(t, 2, &liveEngine{})
	s.session(t, nil).object(t, 200)
	s.session(t, nil).object(t, 200)
	if p := s.session(t, nil).problem(t, 429); p["code"] != "too_many_sessions" {
		t.Errorf("above the tenant's share: %v", p)
	}
	one := newStack(t, withSessions(t, &l))
	l.work(t, 1, &liveEngine{})
	one.session(t, nil).object(t, 200)
	r := one.session(t, nil)
	if r.problem(t, 429); !strings.Contains(string(r.body), `"detail":"no_idle_worker"`) {
		t.Errorf("without a queue: %s", r.body)
	}
}

func TestSessionPictures(t *testing.T) {
	var l live
	e := &liveEngine{}
	s := newStack(t, withSessions(t, &l))
	l.work(t, 16, e)
	picture := testPNG(t, 96, 64)
	f := s.postForm(t, "/v1/files", field("purpose", "vision"), file("file", "a.png", "image/png", picture)).object(t, 200)
	ways := map[string]func() reply{
		"data URL":   func() reply { return s.session(t, map[string]any{"image": dataURL(picture)}) },
		"image_path": func() reply { return s.session(t, map[string]any{"image_path": dataURL(picture)}) },
		"in config":  func() reply { return s.session(t, map[string]any{"config": map[string]any{"image": dataURL(picture)}}) },
		"file_id":    func() reply { return s.session(t, map[string]any{"image": map[string]any{"file_id": f["id"]}}) },
		"input_reference": func() reply {
			return s.session(t, map[string]any{"input_reference": map[string]any{"image_url": dataURL(picture)}})
		},
		"upload": func() reply {
			return s.postForm(t, sessionsPath, field("identity", "me"), file("image", "a.png", "", picture))
		},
		"form": func() reply {
			return s.postForm(t, sessionsPath, field("identity", "me"), field("config", `{"fps":"16"}`), field("image[image_url]", dataURL(picture)))
		},
	}
	for name, send := range ways {
		id := send().object(t, 200)["session_id"].(string)
		session, err := l.store.Get(t.Context(), api.LocalTenant, id)
		if err != nil || session.Spec.ImageKey != "sessions/"+id+"/reference.png" || session.Spec.Width != 96 || session.Spec.Height != 64 || session.Spec.FPS != 16 {
			t.Errorf("%s: %+v %v", name, session.Spec, err)
		}
		if !slices.Contains(s.objects(t), session.Spec.ImageKey) {
			t.Errorf("%s: the picture is not in the store", name)
		}
	}
	for name, fields := range map[string]map[string]any{
		"path": {"image_path": "/etc/passwd"}, "file URL": {"image_path": "file:///etc/passwd"}, "other path": {"config": map[string]any{"video_path": "x"}},
		"address": {"image": "https://example.com/a.png"}, "other size": {"image": dataURL(picture), "size": "832x480"}, "no picture": {"image": "data:image/png;base64,AAAA"},
		"two": {"image": dataURL(picture), "image_path": dataURL(picture)}, "strange file": {"image": map[string]any{"file_id": "file-01m8pxxy3kq7m2kve7v7wgdxaz"}},
	} {
		p := s.session(t, fields).problem(t, 400)
		if _, path := fields["image_path"]; path != (p["param"] == "image_path") && name != "two" {
			t.Errorf("%s: %v", name, p)
		}
	}
	s.noTempFiles(t)
}

// TestARefusedSessionLeavesNothing: no room and no picture.
func TestARefusedSessionLeavesNothing(t *testing.T) {
	var l live
	s := newStack(t, withSessions(t, &l))
	s.session(t, map[string]any{"image": dataURL(testPNG(t, 96, 64))}).problem(t, 429)
	there, made := l.rooms.count()
	if keys := s.objects(t); len(keys) != 0 || there != 0 || made != 1 {
		t.Errorf("left are %v and %d rooms of %d", keys, there, made)
	}
}

func TestBadSessions(t *testing.T) {
	var l live
	s := newStack(t, withSessions(t, &l))
	for name, c := range map[string]struct {
		fields map[string]any
		param  string
	}{
		"no identity": {map[string]any{"identity": nil}, "identity"}, "empty identity": {map[string]any{"identity": ""}, "identity"}, "number": {map[string]any{"identity": 5}, "identity"},
		"ours": {map[string]any{"identity": "telefuser-x"}, "identity"}, "OURS": {map[string]any{"identity": "TeleFuser-x"}, "identity"}, "space": {map[string]any{"identity": "a b"}, "identity"},
		"long identity": {map[string]any{"identity": strings.Repeat("i", 129)}, "identity"}, "viewer": {map[string]any{"role": "viewer"}, "role"}, "admin": {map[string]any{"role": "admin"}, "role"},
		"prompt type": {map[string]any{"prompt": 5}, "prompt"}, "long prompt": {map[string]any{"prompt": strings.Repeat("猫", 20000)}, "prompt"}, "size": {map[string]any{"size": "1x1"}, "size"},
		"delivery": {map[string]any{"delivery_mode": "fast"}, "delivery_mode"}, "endless lossless": {map[string]any{"delivery_mode": "lossless"}, "num_frames"},
		"frames": {map[string]any{"num_frames": 4}, "num_frames"}, "two lengths": {map[string]any{"num_frames": 5, "frames": 9}, "frames"}, "fps": {map[string]any{"fps": 1000}, "fps"},
		"camera": {map[string]any{"camera": []any{}}, "camera"}, "speed": {map[string]any{"config": map[string]any{"speed": "fast"}}, "speed"}, "config": {map[string]any{"config": "x"}, "config"},
		"long session": {map[string]any{"session_timeout": 1e9}, "session_timeout"}, "idle": {map[string]any{"control_idle_timeout": -1}, "control_idle_timeout"},
		"idle text": {map[string]any{"control_idle_timeout": "NaN"}, "control_idle_timeout"},
	} {
		r := s.session(t, c.fields)
		if p := r.problem(t, 400); p["param"] != c.param || r.object(t, 400)["detail"] != p["code"] {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	if p := s.session(t, map[string]any{"pipeline": "nope"}).problem(t, 404); p["code"] != "model_not_found" {
		t.Errorf("an unknown pipeline: %v", p)
	}
	if _, made := l.rooms.count(); made != 0 {
		t.Errorf("%d rooms were made", made)
	}
}

// TestBoundedSessions asks for the same length in every way.
func TestBoundedSessions(t *testing.T) {
	var l live
	s := newStack(t, withSessions(t, &l))
	l.work(t, 16, &liveEngine{})
	for name, fields := range map[string]map[string]any{
		"num_frames": {"num_frames": 957}, "frames": {"frames": 957}, "frame_num": {"config": map[string]any{"frame_num": "957", "fps": 16, "chunk_size": 4, "benchmark_metrics": true}},
	} {
		fields["delivery_mode"], fields["session_timeout"], fields["model"] = "lossless", 240, "terrain"
		id := s.session(t, fields).object(t, 200)["session_id"].(string)
		session, err := l.store.Get(t.Context(), api.LocalTenant, id)
		if err != nil || session.Spec.Frames != 957 || session.Spec.Delivery != streaming.DeliveryLossless || session.Spec.SessionTimeout != 4*time.Minute {
			t.Errorf("%s: %+v %v", name, session.Spec, err)
		}
	}
	id := s.session(t, map[string]any{"seconds": 4, "pipeline": "sora-2"}).object(t, 200)["session_id"].(string)
	if session, err := l.store.Get(t.Context(), api.LocalTenant, id); err != nil || session.Spec.Frames != 64 || session.Spec.Width != 832 {
		t.Errorf("seconds: %+v %v", session.Spec, err)
	}
}

func TestSessionTokens(t *testing.T) {
	var l live
	s := newStack(t, withSessions(t, &l), func(in *setup) { in.api.Stream.TokenTTL = time.Minute })
	l.work(t, 1, &liveEngine{})
	id := s.session(t, nil).object(t, 200)["session_id"].(string)
	tokens, room := sessionsPath+"/"+id+"/tokens", "tf-world-"+id
	for _, c := range []struct{ body, role, identity string }{
		{`{"identity":"you"}`, "viewer", "you"}, {`{"identity":"you","role":"viewer"}`, "viewer", "you"}, {`{"identity":"me","role":"controller"}`, "controller", "me"},
	} {
		now := float64(time.Now().Unix())
		got := s.postJSON(t, tokens, c.body).object(t, 200)
		if got["token"] != room+" "+c.identity+" "+c.role+" 1m0s" || got["role"] != c.role || got["room"] != room || got["livekit_url"] != "ws://media.example" || got["session_id"] != id {
			t.Errorf("%s: %v", c.body, got)
		}
		if left := number(t, got["expires_at"]) - now; left < 50 || left > 70 {
			t.Errorf("%s: it is good for %v s", c.body, left)
		}
	}
	for _, body := range []string{`{}`, `{"identity":"you","role":"controller"}`, `{"identity":"me"}`, `{"identity":"you","role":"admin"}`, `{"identity":"telefuser-1"}`} {
		if p := s.postJSON(t, tokens, body).problem(t, 400); p["param"] != "identity" && p["param"] != "role" {
			t.Errorf("%s: %v", body, p)
		}
	}
	s.postJSON(t, sessionsPath+"/"+missingSession+"/tokens", `{"identity":"you"}`).problem(t, 404)
	s.request(t, "DELETE", sessionsPath+"/"+id, nil).object(t, 200)
	if r := s.postJSON(t, tokens, `{"identity":"you"}`); r.problem(t, 409)["code"] != "session_ended" || r.object(t, 409)["detail"] != "session_ended" {
		t.Errorf("of an ended session: %s", r.body)
	}
}

// TestSessionsOfOthersAreMissing wants every answer about another's session to be that about a missing one, to the byte.
func TestSessionsOfOthersAreMissing(t *testing.T) {
	var l live
	s := newStack(t, withKeys, withSessions(t, &l))
	l.work(t, 2, &liveEngine{})
	owner, other := s.key(t, "acme"), s.key(t, "rival")
	id := s.session(t, nil, "Authorization", owner).object(t, 200)["session_id"].(string)
	for _, route := range [][3]string{{"GET", "", ""}, {"DELETE", "", ""}, {"POST", "/tokens", `{"identity":"spy"}`}} {
		send := func(id string) reply {
			return s.request(t, route[0], sessionsPath+"/"+id+route[1], strings.NewReader(route[2]), "Authorization", other, "Content-Type", "application/json")
		}
		theirs, none, odd := send(id), send(missingSession), send("nope")
		if theirs.status != 404 || !bytes.Equal(theirs.body, none.body) || !bytes.Equal(none.body, odd.body) {
			t.Errorf("%v: another's is %s, a missing one %s, an odd one %s", route, theirs.body, none.body, odd.body)
		}
	}
	for _, path := range []string{sessionsPath, sessionsPath + "/" + id, sessionsPath + "/" + id + "/tokens"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			if r := s.request(t, method, path, nil); r.status != 401 && r.status != 405 {
				t.Errorf("%s %s without a key: %d", method, path, r.status)
			}
		}
	}
	if list := s.request(t, "GET", sessionsPath, nil, "Authorization", other).object(t, 200); len(list["data"].([]any)) != 0 {
		t.Errorf("the other sees %v", list)
	}
	if now := s.request(t, "GET", sessionsPath+"/"+id, nil, "Authorization", owner).object(t, 200); now["ended_at"] != nil {
		t.Errorf("it was ended: %v", now)
	}
}

func TestSessionPages(t *testing.T) {
	var l live
	s := newStack(t, withSessions(t, &l))
	l.work(t, 8, &liveEngine{})
	var made []string
	for range 5 {
		made = append(made, s.session(t, nil).object(t, 200)["session_id"].(string))
	}
	slices.Reverse(made)
	var walked []string
	for after, more := "", true; more; after = walked[len(walked)-1] {
		list := s.request(t, "GET", sessionsPath+"?limit=2&after="+after, nil).object(t, 200)
		for _, row := range list["data"].([]any) {
			walked = append(walked, row.(map[string]any)["session_id"].(string))
		}
		more = list["has_more"] == true
	}
	if !slices.Equal(walked, made) {
		t.Errorf("page by page they are %v, want %v", walked, made)
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "after=x", "after=" + missingSession, "limit=1&limit=2"} {
		s.request(t, "GET", sessionsPath+"?"+query, nil).problem(t, 400)
	}
}

func TestWithoutAMediaServer(t *testing.T) {
	s := newStack(t, withKeys)
	key := s.key(t, "acme")
	for _, route := range [][2]string{{"POST", ""}, {"GET", ""}, {"GET", "/" + missingSession}, {"DELETE", "/" + missingSession}, {"POST", "/" + missingSession + "/tokens"}} {
		r := s.request(t, route[0], sessionsPath+route[1], nil, "Authorization", key)
		if r.problem(t, 503)["code"] != "streaming_off" || r.object(t, 503)["detail"] != "streaming_off" || r.header.Get("X-Should-Retry") != "false" {
			t.Errorf("%v: %s", route, r.body)
		}
		s.request(t, route[0], sessionsPath+route[1], nil).problem(t, 401)
	}
	s.request(t, "GET", "/v1/stream/health", nil).problem(t, 503)
	if h := s.request(t, "GET", "/v1/service/health", nil).object(t, 200); h["service_type"] != nil || h["workers_idle"] != nil {
		t.Errorf("health speaks of live sessions: %v", h)
	}
}

func TestAMediaServerThatIsDown(t *testing.T) {
	var l live
	s := newStack(t, withSessions(t, &l))
	l.work(t, 1, &liveEngine{})
	l.rooms.mu.Lock()
	l.rooms.down = errors.New("canary: connection refused")
	l.rooms.mu.Unlock()
	r := s.session(t, nil)
	if r.problem(t, 503)["code"] != "media_unavailable" || r.header.Get("Retry-After") == "" || strings.Contains(string(r.body), "canary") {
		t.Errorf("%s", r.body)
	}
	if list := s.request(t, "GET", sessionsPath, nil).object(t, 200); len(list["data"].([]any)) != 0 {
		t.Errorf("a session was made: %v", list)
	}
}

func TestAFailedSessionSaysSo(t *testing.T) {
	var l live
	s := newStack(t, withSessions(t, &l))
	l.work(t, 1, &liveEngine{failOpen: errors.New("canary")})
	id := s.session(t, nil).object(t, 200)["session_id"].(string)
	var r reply
	eventually(t, "it fails", func() bool {
		r = s.request(t, "GET", sessionsPath+"/"+id, nil)
		return r.object(t, 200)["status"] == "failed"
	})
	if now := r.object(t, 200); now["error"] == nil || now["reason"] != "pipeline_failed" || strings.Contains(string(r.body), "canary") {
		t.Errorf("%s", r.body)
	}
}

// TestHealthAsScriptsReadIt holds the spelling that scripts look for.
func TestHealthAsScriptsReadIt(t *testing.T) {
	var l live
	e := &liveEngine{loading: true}
	s := newStack(t, withSessions(t, &l), func(in *setup) {
		in.api.Stream = api.StreamConfig{Primary: true, NumWorkers: 1, SessionsPerWorkerMax: 2, QueueSize: 3}
	})
	has := func(path string, words ...string) func() bool {
		return func() bool {
			r := s.request(t, "GET", path, nil)
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(string(r.body), w) })
		}
	}
	l.work(t, 2, e)
	if !has("/v1/service/health", `"ready":false`, `"status":"unhealthy"`, `"workers_total":1`, `"workers_idle":0`)() {
		t.Errorf("while it loads: %s", s.request(t, "GET", "/v1/service/health", nil).body)
	}
	if ready := s.request(t, "GET", "/v1/service/ready", nil).object(t, http.StatusServiceUnavailable); ready["reason"] != "workers" {
		t.Errorf("readiness while it loads: %v", ready)
	}
	e.set(func(e *liveEngine) { e.loading = false })
	idle := []string{`"ready":true`, `"workers_idle":1`, `"workers_failed":0`, `"livekit_connected":false`, `"status":"healthy"`, `"pipeline_ready":true`, `"service_type":"stream"`,
		`"transport":"livekit"`, `"queued_sessions":0`, `"workers_busy":0`}
	eventually(t, "health is as scripts want it", has("/v1/service/health", idle...))
	eventually(t, "it is ready", has("/v1/service/ready", `{"status":"ready"}`))
	if !has("/v1/stream/health", `"status":"healthy"`, `"livekit_connected":false`, `"workers_total":1`, `"workers_idle":1`, `"workers_busy":0`, `"workers_failed":0`, `"queued_sessions":0`)() {
		t.Errorf("the health of streams: %s", s.request(t, "GET", "/v1/stream/health", nil).body)
	}
	s.session(t, nil).object(t, 200)
	eventually(t, "it is on the air", has("/v1/service/health", `"livekit_connected":true`, `"workers_busy":1`, `"workers_idle":0`))
	m := s.request(t, "GET", "/v1/service/metadata", nil).object(t, 200)
	if m["service_type"] != "stream" || m["transport"] != "livekit" || m["livekit_url"] != "ws://media.example" || m["num_workers"] != json.Number("1") || m["max_sessions_per_worker"] != json.Number("2") ||
		m["configured_max_sessions_per_worker"] != json.Number("2") || m["queue_size"] != json.Number("3") || m["worker_mode"] != "process" || m["ready"] != true || m["workers_busy"] != json.Number("1") ||
		m["control_idle_timeout"] != json.Number("10") || m["environment"] == nil || m["autoscaling_enabled"] != false {
		t.Errorf("metadata: %v", m)
	}
	f := s.request(t, "GET", "/v1/service/metrics/json", nil).object(t, 200)
	if f["service_type"] != "stream" || f["livekit"].(map[string]any)["workers_busy"] != json.Number("1") {
		t.Errorf("figures: %v", f)
	}
}
