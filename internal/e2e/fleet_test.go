package e2e_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/livekit/protocol/livekit"
	"github.com/livekit/protocol/logger"
	lksdk "github.com/livekit/server-sdk-go/v2"

	"telefuser/internal/bench/viewer"
	"telefuser/internal/devstack"
)

// endTimeout bounds the end of a session beside whatever a test says of it.
const endTimeout = 40 * time.Second

// fleet is the production topology of live sessions in small: redis-server, a media server, and stream-serve processes that share both.
type fleet struct {
	t       *testing.T
	dir     string
	args    []string
	redis   *devstack.Redis
	media   *devstack.LiveKit
	ports   []int
	servers []*process
	// clients speak to one server each.
	clients []liveClient
}

// startFleet runs so many servers until the test ends. It skips the test where a program is not installed, and says how to get it.
func startFleet(t *testing.T, servers int, args ...string) *fleet {
	t.Helper()
	toolsEnv(t)
	lksdk.SetLogger(logger.GetDiscardLogger()) // its own writes pages of what the viewers' connections do
	f := &fleet{t: t, dir: shortDir(t), args: args}
	var err error
	if f.redis, err = devstack.StartRedis(t.Context(), filepath.Join(f.dir, "redis"), devstack.RedisOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.redis.Stop)
	if f.media, err = devstack.StartLiveKit(t.Context(), filepath.Join(f.dir, "livekit"), devstack.LiveKitOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.media.Stop)
	for i := range servers {
		f.servers, f.clients = append(f.servers, nil), append(f.clients, liveClient{})
		f.ports = append(f.ports, freePort(t))
		f.launch(i)
	}
	return f
}

// launch starts server i at its port, and returns when a worker is ready.
func (f *fleet) launch(i int) {
	f.t.Helper()
	name := "serve" + strconv.Itoa(i)
	f.servers[i] = start(f.t, spawn{name: name, path: program(f.t), dir: f.dir, env: []string{"TELEFUSER_LIVEKIT_API_SECRET=" + f.media.APISecret},
		args: append([]string{"stream-serve", "terrain", "--livekit-url", f.media.URL, "--livekit-api-key", f.media.APIKey, "--port", strconv.Itoa(f.ports[i]),
			"--redis-url", "redis://" + f.redis.Addr + "/0", "--data-dir", filepath.Join(f.dir, name), "--storage-dir", filepath.Join(f.dir, "objects"),
			"--log-format", "json"}, f.args...)})
	f.clients[i] = liveClient{base: lineOf(f.t, f.servers[i], "ready")}
}

// rooms is the media server's own API.
func (f *fleet) rooms() *lksdk.RoomServiceClient {
	return lksdk.NewRoomServiceClient(f.media.URL, f.media.APIKey, f.media.APISecret)
}

// roomNames are the rooms that the media server has.
func (f *fleet) roomNames() []string {
	f.t.Helper()
	list, err := f.rooms().ListRooms(f.t.Context(), &livekit.ListRoomsRequest{})
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, room := range list.GetRooms() {
		names = append(names, room.GetName())
	}
	return names
}

// flown is one session with its controller.
type flown struct {
	*fleet
	client liveClient
	id     string
	ticket map[string]any
	pilot  *viewer.Viewer
	// depth is how far into the world the last report that was read saw the camera.
	depth float64
}

// path is where the session's record is.
func (s *flown) path() string { return "/v1/stream/sessions/" + s.id }

// record is the session as it stands.
func (s *flown) record() map[string]any {
	s.t.Helper()
	return s.client.must(s.t, 200, "GET", s.path(), nil)
}

// fly makes a session through a server and flies forward in it until it is on its way.
func (f *fleet) fly(i int, more fields) *flown {
	f.t.Helper()
	s := &flown{fleet: f, client: f.clients[i]}
	s.ticket = s.client.must(f.t, 200, "POST", "/v1/stream/sessions", fields{"identity": "pilot", "prompt": "islands", "size": "192x128", "seed": 7}.with(more))
	s.id = s.ticket["session_id"].(string)
	s.pilot = watch(f.t, s.ticket)
	awaitFrames(f.t, s.pilot, 1)
	holdKeys(f.t, s.pilot, "w")
	s.awaitDepth(s.pilot, 3)
	return s
}

// awaitDepth waits until a chunk was sent whose camera is farther than that.
func (s *flown) awaitDepth(v *viewer.Viewer, than float64) {
	s.t.Helper()
	awaitStatus(s.t, v, "a flight beyond "+strconv.FormatFloat(than, 'f', 1, 64), func(_, data map[string]any) bool {
		pose, _ := data["pose"].(map[string]any)
		z, _ := pose["z"].(float64)
		if data["stage"] != "chunk_sent" || z <= than {
			return false
		}
		s.depth = z
		return true
	})
}

// token is a new way into the session's room.
func (s *flown) token(identity, role string) map[string]any {
	s.t.Helper()
	return s.client.must(s.t, 200, "POST", s.path()+"/tokens", fields{"identity": identity, "role": role})
}

// comeBack does what a page does that lost the room: it asks for a token and joins, until there is a picture.
func (s *flown) comeBack(within time.Duration) *viewer.Viewer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	for {
		ticket := s.token("pilot", "controller")
		v, err := viewer.Join(ctx, ticket["livekit_url"].(string), ticket["token"].(string), viewer.Options{Keep: true})
		if err == nil {
			s.t.Cleanup(v.Close)
			if err = v.WaitFrames(ctx, 1); err == nil {
				return v
			}
			v.Close()
		}
		if ctx.Err() != nil {
			s.t.Fatalf("no picture within %s: %v; the session is %v", within, err, s.record())
		}
		pause(s.t, 200*time.Millisecond)
	}
}

// awaitEnd waits for the end of the session and holds its reason to what it must be.
func (s *flown) awaitEnd(status, reason string) {
	s.t.Helper()
	waitFor(s.t, endTimeout, "the session to end", func() bool { return s.record()["ended_at"] != nil })
	if now := s.record(); now["status"] != status || now["reason"] != reason || now["message"] == "" {
		s.t.Fatalf("it ended as %v, %v, %v; want %s, %s", now["status"], now["reason"], now["message"], status, reason)
	}
}

// awaitIdle waits until the worker has its slots back.
func (s *flown) awaitIdle() {
	s.t.Helper()
	waitFor(s.t, endTimeout, "the slot to be free", func() bool {
		health := s.client.must(s.t, 200, "GET", "/v1/stream/health", nil)
		return health["workers_idle"] == health["workers_total"] && health["livekit_connected"] == false
	})
}

// metric is the sum of a metric's series whose labels hold a text.
func metric(t *testing.T, c liveClient, name, label string) float64 {
	t.Helper()
	res, err := newClient(c.base).http.Get(c.base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var text output
	if _, err := text.buf.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, name+" ") && !strings.HasPrefix(line, name+"{") || !strings.Contains(line, label) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndexByte(line, ' '):]), 64)
		if err != nil {
			t.Fatalf("metrics: %q", line)
		}
		sum += value
	}
	return sum
}

// say sends a control as the controller.
func say(t *testing.T, v *viewer.Viewer, message fields) {
	t.Helper()
	text, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Send("tf.control", text); err != nil {
		t.Fatal(err)
	}
}

// since is a bar that a fault test holds the product to, with what it took in the log.
func since(t *testing.T, began time.Time, bar time.Duration, what string) {
	t.Helper()
	took := time.Since(began)
	t.Logf("%s after %s", what, took.Round(10*time.Millisecond))
	if took > bar {
		t.Errorf("%s after %s, allowed are %s", what, took, bar)
	}
}

// longRun says whether tests run at their full length, as `make faults-live` asks.
func longRun() bool { return inherited("LIVE_LONG") != "" }
