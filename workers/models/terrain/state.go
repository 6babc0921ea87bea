package terrain

import (
	"encoding/json"
	"fmt"
	"math"

	"telefuser/workers/contract"
)

// stateVersion changes when an older state no longer gives the same frames.
const stateVersion = 1

// StateBytesMax bounds an encoded state.
const StateBytesMax = 64 << 10

// State is everything that a later request needs to continue a flight without a seam.
type State struct {
	Version int `json:"v"`
	// Prompt, StylePrompt, Seed, HourOfDay (negative: by the prompt) and Picture are the world's.
	Prompt      string  `json:"prompt"`
	StylePrompt string  `json:"style_prompt,omitempty"`
	Seed        int64   `json:"seed"`
	HourOfDay   float64 `json:"hour"`
	// Picture is what the world keeps of its reference image: rows of RGB, or nil.
	Picture []byte `json:"picture,omitempty"`
	// Altitude and Speed are the flight's.
	Altitude float64     `json:"altitude"`
	Speed    float64     `json:"speed"`
	Flight   FlightState `json:"flight"`
}

// Encode writes the state as JSON.
func (s State) Encode() ([]byte, error) {
	s.Version = stateVersion
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("terrain: encode state: %w", err)
	}
	return data, nil
}

// DecodeState reads a state that Encode wrote. It fails with ErrState.
func DecodeState(data []byte) (*State, error) {
	if len(data) > StateBytesMax {
		return nil, fmt.Errorf("%w: %d bytes", ErrState, len(data))
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	switch {
	case s.Version != stateVersion:
		return nil, fmt.Errorf("%w: version %d", ErrState, s.Version)
	case s.Picture != nil && len(s.Picture) != pictureBytes:
		return nil, fmt.Errorf("%w: picture of %d bytes", ErrState, len(s.Picture))
	case !contract.ValidKeys(s.Flight.Keys) || s.Flight.Frame < 0 || s.Flight.Ticks < 0 || s.Flight.Clock < 0:
		return nil, fmt.Errorf("%w: flight", ErrState)
	case !poseInside(s.Flight.Pose) || !inside(64, s.Altitude, s.Speed) || s.HourOfDay > 24:
		return nil, fmt.Errorf("%w: numbers out of range", ErrState)
	case !s.Flight.Path.valid():
		return nil, fmt.Errorf("%w: path", ErrState)
	}
	return &s, nil
}

// inside says whether all values are numbers within a limit.
func inside(limit float64, values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.Abs(v) > limit {
			return false
		}
	}
	return true
}

// poseInside says whether a pose that was read can be flown from.
func poseInside(p Pose) bool { return inside(1e7, p.X, p.Y, p.Z, p.Yaw, p.Pitch) }
