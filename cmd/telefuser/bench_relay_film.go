package main

import (
	"context"
	"time"

	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
)

// filmLength is how long a recorded flight is; then it begins anew, with a keyframe.
const filmLength = 10 * time.Second

// film is a flight that was encoded beforehand. The first frame is a keyframe.
type film [][]byte

// recordFlight renders and encodes a flight over one world.
func recordFlight(ctx context.Context, o media.VP8Options) (film, error) {
	world, err := terrain.NewWorld(terrain.WorldConfig{Prompt: sessionWorlds()[0], Seed: 1, HourOfDay: -1})
	if err != nil {
		return nil, err
	}
	renderer, err := terrain.NewRenderer(world, o.Width, o.Height, 0)
	if err != nil {
		return nil, err
	}
	flight, err := terrain.NewFlight(terrain.FlightConfig{FPS: o.FPS, Speed: 1, Seed: 1}, nil)
	if err != nil {
		return nil, err
	}
	encoder, err := media.NewVP8Encoder(o)
	if err != nil {
		return nil, err
	}
	defer encoder.Close()
	var f film
	picture := media.NewFrame(o.Width, o.Height)
	for n := range int(filmLength.Seconds()) * o.FPS {
		pose, ticks := flight.Next()
		plan, _ := renderer.Prepare([]terrain.Shot{{Pose: pose, Ticks: ticks}}, 1)
		if _, err := plan.Draw(ctx, []media.Frame{picture}); err != nil {
			return nil, err
		}
		data, _, err := encoder.Encode(picture, time.Duration(n)*time.Second/time.Duration(o.FPS), n == 0)
		if err != nil {
			return nil, err
		}
		f = append(f, append([]byte(nil), data...))
	}
	return f, nil
}

// play begins to show the film once.
func (f film) play() *filmEncoder { return &filmEncoder{film: f} }

// filmEncoder answers the film's frames, whatever it is given. Who asks for a keyframe gets the first one, and the film goes on from there.
type filmEncoder struct {
	film film
	next int
}

// Encode answers the next frame.
func (e *filmEncoder) Encode(_ media.Frame, _ time.Duration, forceKey bool) (data []byte, key bool, err error) {
	if forceKey || e.next == len(e.film) {
		e.next = 0
	}
	e.next++
	return e.film[e.next-1], e.next == 1, nil
}

// CPU is nothing.
func (*filmEncoder) CPU() time.Duration { return 0 }

// Close frees nothing.
func (*filmEncoder) Close() {}
