package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"telefuser/internal/bench/viewer"
	"telefuser/streaming"
	"telefuser/streaming/livekit"
	"telefuser/workers/media"
)

// relayBitrate is the target of a stream's encoder in bits a second: three bits for ten pixels, as sessions have it.
func relayBitrate(width, height, fps int) int { return 3 * width * height * fps / 10 }

// relayStream is one room with its publisher and its viewers.
type relayStream struct {
	rooms     *livekit.Server
	room      string
	publisher streaming.Publisher
	viewers   []*viewer.Viewer
	traces    []*viewer.Trace
}

// openRelayStream makes room i and lets everybody in.
func openRelayStream(ctx context.Context, rooms *livekit.Server, i int, b *benchRelay, width, height int) (_ *relayStream, err error) {
	name := "relay-" + strconv.Itoa(i)
	s := &relayStream{rooms: rooms, room: name}
	if err := rooms.Create(ctx, name); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	s.publisher, err = rooms.Join(ctx, streaming.Join{
		SessionID: name, Room: name, Epoch: 1, Controller: "viewer-0", Width: width, Height: height, FPS: b.fps, BitrateBitsPerSecond: relayBitrate(width, height, b.fps),
	})
	if err != nil {
		return nil, err
	}
	go func() {
		for range s.publisher.Events() { //nolint:revive // nobody acts on what happens in the room
		}
	}()
	for j := range b.viewers {
		token, err := rooms.Token(name, "viewer-"+strconv.Itoa(j), streaming.RoleViewer, 0)
		if err != nil {
			return nil, err
		}
		trace := &viewer.Trace{}
		v, err := viewer.Join(ctx, rooms.URL(), token, viewer.Options{OnFrame: trace.OnFrame})
		if err != nil {
			return nil, err
		}
		s.viewers, s.traces = append(s.viewers, v), append(s.traces, trace)
	}
	return s, nil
}

// play publishes at an even pace until the context ends.
func (s *relayStream) play(ctx context.Context, fps int) error {
	begin := time.Now()
	for n := 0; ; n++ {
		at := time.Duration(n) * time.Second / time.Duration(fps)
		if err := pause(ctx, time.Until(begin.Add(at))); err != nil {
			return nil //nolint:nilerr // the end of the measurement
		}
		if _, err := s.publisher.WriteFrame(ctx, media.Frame{}, at, time.Time{}); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w", s.room, err)
		}
	}
}

func (s *relayStream) close() {
	for _, v := range s.viewers {
		v.Close()
	}
	if s.publisher != nil {
		_ = s.publisher.Close() // the server ends in a moment
	}
}
