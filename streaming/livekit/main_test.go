package livekit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"telefuser/internal/bench/viewer"
	"telefuser/internal/devstack"
	"telefuser/streaming"
	"telefuser/streaming/livekit"
	"telefuser/workers/media"
)

const (
	width, height, fps = 320, 192, 16
	// patience bounds a wait that a test makes for the real server.
	patience = 15 * time.Second
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(int) { http.DefaultClient.CloseIdleConnections() }))
}

// stack is a media server and our view of it.
type stack struct {
	*livekit.Server
	process *devstack.LiveKit
}

func start(tb testing.TB) *stack {
	tb.Helper()
	if err := media.CheckVP8(tb.Context()); err != nil {
		tb.Skip(err)
	}
	process, err := devstack.StartLiveKit(tb.Context(), tb.TempDir(), devstack.LiveKitOptions{})
	if errors.Is(err, devstack.ErrNoTool) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(process.Stop)
	server, err := livekit.New(livekit.Config{URL: process.URL, APIKey: process.APIKey, APISecret: process.APISecret, ReconnectTimeout: 3 * time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	return &stack{Server: server, process: process}
}

var rooms atomic.Int64

// room makes one that nobody used before.
func (s *stack) room(tb testing.TB) string {
	tb.Helper()
	room := fmt.Sprintf("tf-world-%d", rooms.Add(1))
	if err := s.Create(tb.Context(), room); err != nil {
		tb.Fatal(err)
	}
	return room
}

func joinOf(room string, epoch int) streaming.Join {
	return streaming.Join{SessionID: "s-" + room, Room: room, Epoch: epoch, Controller: "controller", Width: width, Height: height, FPS: fps,
		BitrateBitsPerSecond: 1_000_000}
}

func (s *stack) publish(tb testing.TB, j streaming.Join) streaming.Publisher {
	tb.Helper()
	p, err := s.Join(tb.Context(), j)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}

func (s *stack) token(tb testing.TB, room, identity string, role streaming.Role) string {
	tb.Helper()
	token, err := s.Token(room, identity, role, time.Minute)
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

func (s *stack) watch(tb testing.TB, room, identity string, role streaming.Role, o viewer.Options) *viewer.Viewer {
	tb.Helper()
	v, err := viewer.Join(tb.Context(), s.process.URL, s.token(tb, room, identity, role), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(v.Close)
	return v
}

// picture is a frame that shows its number: a moving gradient.
func picture(index int) media.Frame {
	f := media.NewFrame(width, height)
	y, u, v := f.Planes()
	for row := range height {
		for col := range width {
			y[row*width+col] = byte(16 + (col+3*index+row*row/31)%220)
		}
	}
	for i := range u {
		u[i], v[i] = byte(64+(i+index)%128), byte(64+(i/(width/2)+2*index)%128)
	}
	return f
}

// play writes frames in real time until stopped, n of them, or for ever when n is 0. Its answer says when it is over.
func play(ctx context.Context, p streaming.Publisher, n int) <-chan error {
	done := make(chan error, 1)
	go func() {
		ticker := time.NewTicker(time.Second / fps)
		defer ticker.Stop()
		for i := 0; n == 0 || i < n; i++ {
			if _, err := p.WriteFrame(ctx, picture(i), time.Duration(i)*time.Second/fps, time.Time{}); err != nil {
				done <- err
				return
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				done <- nil
				return
			}
		}
		done <- nil
	}()
	return done
}

// playing plays for ever, beside the test.
func playing(tb testing.TB, p streaming.Publisher) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := play(ctx, p, 0)
	tb.Cleanup(func() {
		cancel()
		<-done
	})
}

func within(tb testing.TB, d time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), d)
	tb.Cleanup(cancel)
	return ctx
}

// next answers the next event of a kind and skips others.
func next(tb testing.TB, p streaming.Publisher, kind string) streaming.Event {
	tb.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case e, open := <-p.Events():
			if !open {
				tb.Fatalf("the events ended before %s", kind)
			}
			if e.Kind == kind {
				return e
			}
		case <-timer.C:
			tb.Fatalf("no %s", kind)
		}
	}
}

// closedAfter checks that nothing comes behind the last event.
func closedAfter(tb testing.TB, p streaming.Publisher) {
	tb.Helper()
	select {
	case e, open := <-p.Events():
		if open {
			tb.Errorf("after the end: %+v", e)
		}
	case <-time.After(patience):
		tb.Error("the events do not end")
	}
}
