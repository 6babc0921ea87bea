package world_test

import (
	"errors"
	"math"
	"testing"

	"telefuser/workers/models/world"
)

// TestRelativesAcrossChunkBorders holds the moves of each chunk to the definition, with 4x4 matrices turned round by hand.
func TestRelativesAcrossChunkBorders(t *testing.T) {
	const tilt, scale = -0.12, 2.5
	c := camera(t, world.Steps{Move: 0.1, Lateral: 0.2, Yaw: degree, Pitch: degree, Tilt: tilt, PitchMin: -1, PitchMax: 1}, nil)
	for chunk, keys := range []string{"wl", "di", "", "ak"} {
		hold(t, c, keys)
		s := c.Next(4)
		moves := world.Relatives(s.From, s.Poses, tilt, scale)
		before, longest := s.From, 0.0
		var ways [][3]float64
		for i, p := range s.Poses {
			a, b := world.Rotation(before, tilt), world.Rotation(p, tilt)
			var way [3]float64
			for row := range 3 {
				for column := range 3 {
					want := 0.0
					for k := range 3 {
						want += a[k][row] * b[k][column]
					}
					if math.Abs(moves[i].Rotation[row][column]-want) > 1e-14 {
						t.Fatalf("chunk %d, move %d: %v", chunk, i, moves[i].Rotation)
					}
				}
				way[row] = a[0][row]*(p.X-before.X) + a[1][row]*(p.Y-before.Y) + a[2][row]*(p.Z-before.Z)
			}
			longest = math.Max(longest, math.Sqrt(way[0]*way[0]+way[1]*way[1]+way[2]*way[2]))
			ways, before = append(ways, way), p
		}
		for i, way := range ways {
			for k := range way {
				want := 0.0
				if longest > 0 {
					want = way[k] / longest * scale
				}
				if math.Abs(moves[i].Translation[k]-want) > 1e-14 {
					t.Fatalf("chunk %d, move %d goes %v, want %g at %d", chunk, i, moves[i].Translation, want, k)
				}
			}
		}
		if chunk == 0 && (moves[0].Translation != [3]float64{} || math.Abs(moves[0].Rotation[1][1]-1) > 1e-15) {
			t.Errorf("the first move of all is %+v", moves[0])
		}
		if chunk == 1 && math.Abs(math.Hypot(moves[0].Translation[0], moves[0].Translation[2])-scale) > 0.01*scale {
			t.Errorf("the first move of the second chunk is %+v: a chunk goes on from the one before", moves[0])
		}
	}
}

func TestRays(t *testing.T) {
	const width, height = 48, 32
	moves := []world.Relative{
		{Rotation: world.Rotation(world.Pose{}, 0)},
		{Rotation: world.Rotation(world.Pose{Yaw: 0.3, Pitch: -0.2}, 0), Translation: [3]float64{0.1, -0.2, 1}},
	}
	tokens, err := world.Rays(moves, world.DefaultIntrinsics(width, height), width, height)
	if err != nil {
		t.Fatal(err)
	}
	if len(tokens) != 2*2*3*world.TokenChannels {
		t.Fatalf("%d numbers", len(tokens))
	}
	for f, m := range moves {
		for y := range height {
			for x := range width {
				d := [3]float64{(float64(x) + 0.5 - width/2) / width, (float64(y) + 0.5 - height/2) / width, 1}
				n := math.Sqrt(d[0]*d[0] + d[1]*d[1] + 1)
				for c := range 6 {
					var want float64
					if c < 3 {
						want = m.Translation[c]
					} else {
						want = (m.Rotation[c-3][0]*d[0] + m.Rotation[c-3][1]*d[1] + m.Rotation[c-3][2]*d[2]) / n
					}
					// The order (c, row in the fold, column in the fold, row in the patch, column in the patch), digit by digit.
					channel := c
					for _, digit := range [][2]int{{8, y % 8}, {8, x % 8}, {2, y / 8 % 2}, {2, x / 8 % 2}} {
						channel = channel*digit[0] + digit[1]
					}
					token := (f*(height/16)+y/16)*(width/16) + x/16
					if got := tokens[token*1536+channel]; got != float32(want) && math.Abs(float64(got)-want) > 1e-7 {
						t.Fatalf("frame %d, pixel %d,%d, channel %d: %g, want %g", f, x, y, c, got, want)
					}
				}
			}
		}
	}
	for _, size := range [][2]int{{40, 32}, {48, 8}, {0, 16}} {
		if _, err := world.Rays(moves, world.DefaultIntrinsics(48, 32), size[0], size[1]); !errors.Is(err, world.ErrConfig) {
			t.Errorf("%v: %v", size, err)
		}
	}
}
