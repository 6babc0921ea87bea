package pipeline

import (
	"context"
	"math"

	"telefuser/workers/media"
	"telefuser/workers/models/terrain"
)

// soundSession is a live flight with the sound of its wind.
type soundSession struct {
	*terrainSession
	fps  int
	wind *terrain.Wind
	// from is where the last chunk ended; nil before the first. frames is how many have been heard.
	from   *Pose
	frames int
}

// wantsSound says whether a request asks for sound. Only live sessions have it.
func wantsSound(req Request) bool {
	wanted, _ := req.Parameters["sound"].(bool)
	return wanted && req.Frames == 0
}

func newSoundSession(s *terrainSession, req Request) *soundSession {
	return &soundSession{terrainSession: s, fps: req.FPS, wind: terrain.NewWind(req.Seed)}
}

// Next makes the next chunk and what is heard with it.
func (s *soundSession) Next(ctx context.Context) (Chunk, error) {
	chunk, err := s.terrainSession.Next(ctx)
	if err != nil || len(chunk.Frames) == 0 {
		return chunk, err
	}
	speed := 0.0
	to := chunk.Applied.Pose
	if s.from != nil {
		way := math.Sqrt((to.X-s.from.X)*(to.X-s.from.X) + (to.Y-s.from.Y)*(to.Y-s.from.Y) + (to.Z-s.from.Z)*(to.Z-s.from.Z))
		speed = way * float64(s.fps) / float64(len(chunk.Frames))
	}
	s.from = &to
	// Counted from the beginning, so that rates that do not divide the sound's do not drift.
	begin := s.frames * media.SoundRate / s.fps
	s.frames += len(chunk.Frames)
	moments := s.frames*media.SoundRate/s.fps - begin
	chunk.Sound = &media.Sound{Channels: 1, PCM: s.wind.Blow(make([]int16, 0, moments), moments, speed)}
	return chunk, nil
}
