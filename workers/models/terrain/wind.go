package terrain

import "math"

// The wind's sound, in samples of soundRate a second.
const (
	soundRate = 48_000
	// windCalm is the loudness at rest, windFull what speed adds at most, as shares of the largest sample.
	windCalm = 0.05
	windFull = 0.30
	// windSpeed is the speed, in world units a second, at which two thirds of windFull are there: the usual one at the usual rate.
	windSpeed = 1.6
	// windLow and windHigh are the cut-off frequencies at rest and at full speed, in Hz.
	windLow  = 180.0
	windHigh = 900.0
	// gustHz is how often the wind swells.
	gustHz = 0.13
)

// Wind is what a flight sounds like: noise that gets louder and brighter with speed. The same seed and speeds give the same samples on one machine.
type Wind struct {
	noise uint64
	// low and lower are the two steps of the low-pass filter, force the loudness of the moment, phase the gust's in turns.
	low, lower, force, phase float64
}

// NewWind makes the wind of a seed.
func NewWind(seed int64) *Wind { return &Wind{noise: uint64(seed)*2 + 1} }

// Blow appends so many samples of one channel at a speed in world units a second, towards which it swells over a fifth of a second.
func (w *Wind) Blow(pcm []int16, moments int, speed float64) []int16 {
	target := 1 - math.Exp(-max(0, speed)/windSpeed)
	const swell = 1 / (0.2 * soundRate)
	for range moments {
		w.force += float64((target - w.force) * swell)
		if w.phase += gustHz / soundRate; w.phase >= 1 {
			w.phase--
		}
		w.noise ^= w.noise << 13
		w.noise ^= w.noise >> 7
		w.noise ^= w.noise << 17
		white := float64(float64(int32(w.noise>>32)) / (1 << 31))
		share := 2 * math.Pi * (windLow + float64((windHigh-windLow)*w.force)) / soundRate
		w.low += float64((white - w.low) * share)
		w.lower += float64((w.low - w.lower) * share)
		// The filter takes the more the lower it is: this gives noise of the same power at every cut-off.
		level := (windCalm + float64(windFull*w.force)) * (1 + float64(0.3*math.Sin(2*math.Pi*w.phase)))
		v := w.lower / math.Sqrt(share/3) * level
		pcm = append(pcm, int16(max(-1, min(1, v))*math.MaxInt16))
	}
	return pcm
}
