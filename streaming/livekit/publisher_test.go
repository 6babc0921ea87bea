package livekit_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/livekit/protocol/auth"

	"telefuser/internal/bench/viewer"
	"telefuser/streaming"
	"telefuser/streaming/livekit"
	"telefuser/workers/media"
)

func TestEveryFrameArrives(t *testing.T) {
	s := start(t)
	room := s.room(t)
	v := s.watch(t, room, "controller", streaming.RoleController, viewer.Options{Keep: true})
	p := s.publish(t, joinOf(room, 1))
	if e := next(t, p, streaming.EventJoined); e.Identity != "controller" {
		t.Fatalf("%+v", e)
	}
	if err := p.WaitSubscribed(within(t, patience), "controller"); err != nil {
		t.Fatal(err)
	}
	const frames = 80
	if err := <-play(t.Context(), p, frames); err != nil {
		t.Fatal(err)
	}
	if err := v.WaitFrames(within(t, patience), frames); err != nil {
		t.Fatal(err)
	}
	got := v.Frames()
	if stats := v.Stats(); stats.Lost != 0 || stats.Frames != frames {
		t.Errorf("%+v", stats)
	}
	for i, f := range got {
		if f.Key != (i == 0) {
			t.Errorf("frame %d: key %v", i, f.Key)
		}
		if i > 0 && f.Timestamp-got[i-1].Timestamp != 90_000/fps {
			t.Errorf("frame %d is %d ticks behind the one before", i, f.Timestamp-got[i-1].Timestamp)
		}
	}
	if n := decoded(t, got); n != frames {
		t.Errorf("%d of %d frames can be decoded", n, frames)
	}
}

// decoded counts the frames that ffmpeg can show.
func decoded(t *testing.T, frames []viewer.Frame) int {
	t.Helper()
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is missing: apt-get install ffmpeg")
	}
	cmd := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-f", "ivf", "-i", "pipe:0", "-fps_mode", "passthrough", "-f", "rawvideo",
		"-pix_fmt", "yuv420p", "pipe:1")
	cmd.Stdin = bytes.NewReader(viewer.IVF(frames, width, height))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return len(out) / media.FrameBytes(width, height)
}

func TestALateViewerSeesTheNextPicture(t *testing.T) {
	s := start(t)
	room := s.room(t)
	p := s.publish(t, joinOf(room, 1))
	playing(t, p)
	early := s.watch(t, room, "early", streaming.RoleViewer, viewer.Options{})
	if err := early.WaitFrames(within(t, patience), 3*fps); err != nil {
		t.Fatal(err)
	}
	late := s.watch(t, room, "late", streaming.RoleViewer, viewer.Options{Keep: true})
	if err := late.WaitFrames(within(t, patience), fps); err != nil {
		t.Fatal(err)
	}
	if frames := late.Frames(); !frames[0].Key || decoded(t, frames) != len(frames) {
		t.Errorf("first frame: key %v, %d of %d decoded", frames[0].Key, decoded(t, frames), len(frames))
	}
}

func TestViewersCannotFloodTheStreamWithKeyframes(t *testing.T) {
	s := start(t)
	room := s.room(t)
	p := s.publish(t, joinOf(room, 1))
	playing(t, p)
	v := s.watch(t, room, "viewer", streaming.RoleViewer, viewer.Options{Keep: true})
	if err := v.WaitFrames(within(t, patience), 1); err != nil {
		t.Fatal(err)
	}
	ctx := within(t, 5*time.Second)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		v.AskKeyframe()
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	frames := v.Frames()
	keys := 0
	for _, f := range frames {
		if f.Key {
			keys++
		}
	}
	// How frames arrive on a busy machine says nothing of when they were made, but their number does. The first second has the first picture, too.
	seconds := int(frames[len(frames)-1].At.Sub(frames[0].At)/time.Second) + 1
	if keys < 4 || keys > 2*seconds+1 {
		t.Errorf("%d keyframes in %d s", keys, seconds)
	}
}

func TestADeletedRoomIsSeenByAll(t *testing.T) {
	s := start(t)
	room := s.room(t)
	p := s.publish(t, joinOf(room, 1))
	playing(t, p)
	v := s.watch(t, room, "viewer", streaming.RoleViewer, viewer.Options{})
	if err := v.WaitFrames(within(t, patience), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), room); err != nil {
		t.Fatal(err)
	}
	next(t, p, streaming.EventRoomDeleted)
	closedAfter(t, p)
	select {
	case <-v.Gone():
	case <-time.After(2 * time.Second):
		t.Error("the viewer sees no end")
	}
	if _, err := p.WriteFrame(t.Context(), picture(0), time.Hour, time.Time{}); !errors.Is(err, livekit.ErrClosed) {
		t.Errorf("a frame for nobody: %v", err)
	}
	if err := p.Send(t.Context(), streaming.TopicStatus, nil, true); !errors.Is(err, livekit.ErrClosed) {
		t.Errorf("a message for nobody: %v", err)
	}
	if err := s.Delete(t.Context(), room); err != nil {
		t.Errorf("deleted again: %v", err)
	}
	if _, err := s.Join(t.Context(), joinOf(room, 2)); !errors.Is(err, livekit.ErrRoomNotFound) {
		t.Errorf("joined a deleted room: %v", err)
	}
}

func TestANewerEpochPutsTheOlderOut(t *testing.T) {
	s := start(t)
	room := s.room(t)
	older := s.publish(t, joinOf(room, 1))
	v := s.watch(t, room, "viewer", streaming.RoleViewer, viewer.Options{})
	playing(t, older)
	if err := v.WaitFrames(within(t, patience), 5); err != nil {
		t.Fatal(err)
	}
	newer := s.publish(t, joinOf(room, 2))
	next(t, older, streaming.EventReplaced)
	closedAfter(t, older)
	if e := next(t, newer, streaming.EventJoined); e.Identity != "viewer" {
		t.Errorf("%+v", e)
	}
	playing(t, newer)
	if err := v.WaitFrames(within(t, patience), v.Stats().Frames+5); err != nil {
		t.Error(err)
	}
	if _, err := s.Join(t.Context(), joinOf(room, 1)); !errors.Is(err, livekit.ErrReplaced) {
		t.Errorf("the older came back: %v", err)
	}
}

func TestARestartedServerIsLostAndJoinedAgain(t *testing.T) {
	s := start(t)
	room := s.room(t)
	p := s.publish(t, joinOf(room, 1))
	playing(t, p)
	v := s.watch(t, room, "viewer", streaming.RoleViewer, viewer.Options{})
	if err := v.WaitFrames(within(t, patience), 5); err != nil {
		t.Fatal(err)
	}
	s.process.Kill()
	begin := time.Now()
	if err := s.process.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	next(t, p, streaming.EventLost)
	closedAfter(t, p)
	t.Logf("lost after %v", time.Since(begin))
	if err := s.Create(t.Context(), room); err != nil {
		t.Fatal(err)
	}
	again := s.publish(t, joinOf(room, 1))
	playing(t, again)
	v2 := s.watch(t, room, "viewer2", streaming.RoleViewer, viewer.Options{})
	if err := v2.WaitFrames(within(t, patience), 5); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheControllerIsObeyed(t *testing.T) {
	s := start(t)
	room := s.room(t)
	p := s.publish(t, joinOf(room, 1))
	// Another controller may send, but it is not this session's.
	other := s.watch(t, room, "other", streaming.RoleController, viewer.Options{})
	ours := s.watch(t, room, "controller", streaming.RoleController, viewer.Options{})
	next(t, p, streaming.EventJoined)
	next(t, p, streaming.EventJoined)
	for range 3 {
		if err := other.Send(streaming.TopicControl, []byte("evil")); err != nil {
			t.Fatal(err)
		}
	}
	// What goes to another topic is not for the publisher, from whomever.
	if err := ours.Send(streaming.TopicStatus, []byte("status")); err != nil {
		t.Fatal(err)
	}
	dropped := 0
	for i := 0; dropped < 3; i++ {
		if err := ours.Send(streaming.TopicControl, []byte("good")); err != nil {
			t.Fatal(err)
		}
		e := next(t, p, streaming.EventControl)
		if string(e.Payload) != "good" || e.Identity != "controller" {
			t.Fatalf("%+v", e)
		}
		dropped += e.Dropped
	}
}

func TestAFloodOfControlsIsBoundedAndCounted(t *testing.T) {
	s := start(t)
	room := s.room(t)
	p := s.publish(t, joinOf(room, 1))
	v := s.watch(t, room, "controller", streaming.RoleController, viewer.Options{})
	next(t, p, streaming.EventJoined)
	const sent, perTick = 2000, 10
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for i := range sent {
		if err := v.Send(streaming.TopicControl, []byte("w")); err != nil {
			t.Fatal(err)
		}
		if i%perTick == 0 {
			<-ticker.C
		}
	}
	if err := v.Send(streaming.TopicControl, []byte("last")); err != nil {
		t.Fatal(err)
	}
	heard, dropped, deadline := 0, 0, time.After(patience)
	for heard+dropped < sent {
		select {
		case e := <-p.Events():
			heard++
			dropped += e.Dropped
		case <-time.After(time.Second):
			// Dropped ones are told with the next message.
			if err := v.Send(streaming.TopicControl, []byte("more")); err != nil {
				t.Fatal(err)
			}
		case <-deadline:
			t.Fatalf("%d heard and %d dropped of %d", heard, dropped, sent)
		}
	}
	if heard > 100 || dropped < sent-100 {
		t.Errorf("nobody read, and %d were kept, %d dropped", heard, dropped)
	}
}

func TestMessagesArriveInOrder(t *testing.T) {
	s := start(t)
	room := s.room(t)
	p := s.publish(t, joinOf(room, 1))
	v := s.watch(t, room, "viewer", streaming.RoleViewer, viewer.Options{})
	next(t, p, streaming.EventJoined)
	for i := range byte(100) {
		if err := p.Send(t.Context(), streaming.TopicStatus, []byte{i}, true); err != nil {
			t.Fatal(err)
		}
	}
	for i := range byte(100) {
		select {
		case m := <-v.Messages():
			if m.Topic != streaming.TopicStatus || m.Payload[0] != i {
				t.Fatalf("message %d: %+v", i, m)
			}
		case <-time.After(patience):
			t.Fatalf("message %d did not come", i)
		}
	}
	if err := p.Send(t.Context(), streaming.TopicStatus, make([]byte, 1<<20), true); !errors.Is(err, livekit.ErrInvalid) {
		t.Errorf("a message of 1 MiB: %v", err)
	}
}

func TestComingsAndGoings(t *testing.T) {
	s := start(t)
	room := s.room(t)
	first := s.watch(t, room, "first", streaming.RoleViewer, viewer.Options{})
	p := s.publish(t, joinOf(room, 1))
	if e := next(t, p, streaming.EventJoined); e.Identity != "first" {
		t.Errorf("%+v", e)
	}
	s.watch(t, room, "second", streaming.RoleViewer, viewer.Options{})
	if e := next(t, p, streaming.EventJoined); e.Identity != "second" {
		t.Errorf("%+v", e)
	}
	first.Close()
	if e := next(t, p, streaming.EventLeft); e.Identity != "first" {
		t.Errorf("%+v", e)
	}
	// Somebody with the same token comes instead. Whether the change is seen or not, in the end the identity is there.
	s.watch(t, room, "second", streaming.RoleViewer, viewer.Options{})
	s.watch(t, room, "third", streaming.RoleViewer, viewer.Options{})
	here, deadline := map[string]bool{"second": true}, time.After(patience)
	for !here["second"] || !here["third"] {
		select {
		case e := <-p.Events():
			here[e.Identity] = e.Kind == streaming.EventJoined
		case <-deadline:
			t.Fatalf("only %v", here)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	closedAfter(t, p)
}

func TestWaitSubscribedWaitsForItsViewer(t *testing.T) {
	s := start(t)
	room := s.room(t)
	p := s.publish(t, joinOf(room, 1))
	s.watch(t, room, "viewer", streaming.RoleViewer, viewer.Options{})
	if err := p.WaitSubscribed(within(t, time.Second), "controller"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("without its viewer: %v", err)
	}
	waited := make(chan error, 1)
	go func() { waited <- p.WaitSubscribed(within(t, patience), "controller") }()
	v := s.watch(t, room, "controller", streaming.RoleController, viewer.Options{})
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if _, err := p.WriteFrame(t.Context(), picture(0), 0, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := v.WaitFrames(within(t, patience), 1); err != nil {
		t.Error(err)
	}
}

func TestAnOlderEpochThatComesBackDoesNotStay(t *testing.T) {
	s := start(t)
	room := s.room(t)
	p := s.publish(t, joinOf(room, 2))
	// Somebody with our identity, who does not say a newer epoch, takes our place: as a publisher that slept and whose library connects by itself.
	token, err := auth.NewAccessToken(s.process.APIKey, s.process.APISecret).SetVideoGrant(&auth.VideoGrant{RoomJoin: true, Room: room}).
		SetIdentity("telefuser-s-" + room).SetMetadata(`{"epoch":1}`).SetValidFor(time.Minute).ToJWT()
	if err != nil {
		t.Fatal(err)
	}
	older, err := viewer.Join(t.Context(), s.process.URL, token, viewer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(older.Close)
	next(t, p, streaming.EventLost)
	closedAfter(t, p)
	again := s.publish(t, joinOf(room, 2))
	select {
	case <-older.Gone():
	case <-time.After(patience):
		t.Error("the older epoch stays")
	}
	if _, err := again.WriteFrame(t.Context(), picture(0), 0, time.Time{}); err != nil {
		t.Error(err)
	}
}
