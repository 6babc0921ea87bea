package wan

import (
	"fmt"
	"math"
)

// Solver walks latents from noise to a picture along the flow that a network predicts.
type Solver interface {
	// Time is what the network calls the present noise level; false when the latents are done.
	Time() (time float64, ok bool)
	// Times are all that Time will answer, in order.
	Times() []float64
	// Next takes the flow at the present latents and level, and changes the latents in place to the next level.
	Next(latents, flow []float32)
}

// FlowSigmas are the noise levels of a flow-matching schedule of n steps, with the 0 at its end: evenly spaced from 0.999, then shifted by
// S s / (1 + (S - 1) s).
func FlowSigmas(shift float64, n int) []float64 {
	const top = 0.999 // of a schedule that was trained on 1000 levels
	out := make([]float64, n+1)
	for i := range n {
		s := top * (1 - float64(i)/float64(n))
		out[i] = shift * s / (1 + (shift-1)*s)
	}
	return out
}

// checkSigmas wants falling levels that end with 0.
func checkSigmas(sigmas []float64) error {
	for i, s := range sigmas {
		if i > 0 && s >= sigmas[i-1] || !(s >= 0 && s <= 1) {
			return fmt.Errorf("%w: noise levels %v", ErrConfig, sigmas)
		}
	}
	if len(sigmas) < 2 || sigmas[len(sigmas)-1] != 0 {
		return fmt.Errorf("%w: noise levels %v", ErrConfig, sigmas)
	}
	return nil
}

// euler is the flow-match Euler solver: x' = x + (s' - s) flow.
type euler struct {
	sigmas []float64
	at     int
}

// NewEuler makes a solver of falling noise levels that end with 0.
func NewEuler(sigmas []float64) (Solver, error) {
	return &euler{sigmas: sigmas}, checkSigmas(sigmas)
}

func (e *euler) Time() (float64, bool) {
	return e.sigmas[e.at] * timesPerSigma, e.at+1 < len(e.sigmas)
}

func (e *euler) Times() []float64 {
	return timesOf(&euler{sigmas: e.sigmas}, func(x *euler) { x.at++ })
}

// timesOf walks a solver from its beginning without any latents.
func timesOf[S Solver](s S, next func(S)) []float64 {
	var all []float64
	for {
		t, ok := s.Time()
		if !ok {
			return all
		}
		all = append(all, t)
		next(s)
	}
}

func (e *euler) Next(latents, flow []float32) {
	step := e.sigmas[e.at+1] - e.sigmas[e.at]
	for i, f := range flow {
		latents[i] = float32(float64(latents[i]) + step*float64(f))
	}
	e.at++
}

// unipc is the UniPC solver of second order, "bh2", on clean latents: each step first corrects the last one with what the network says
// now, then predicts the next. Times are whole numbers, as the schedule of Wan has them.
type unipc struct {
	sigmas []float64
	at     int
	// clean are the predicted clean latents of the two steps before, newest first; before is what the last step began with, and order the
	// order that it had.
	clean  [2][]float32
	before []float32
	order  int
}

// NewUniPC makes a solver of falling noise levels that end with 0.
func NewUniPC(sigmas []float64) (Solver, error) {
	return &unipc{sigmas: sigmas}, checkSigmas(sigmas)
}

func (u *unipc) Time() (float64, bool) {
	return math.Trunc(u.sigmas[u.at] * timesPerSigma), u.at+1 < len(u.sigmas)
}

func (u *unipc) Times() []float64 {
	return timesOf(&unipc{sigmas: u.sigmas}, func(x *unipc) { x.at++ })
}

// logSNR is half of the logarithm of the ratio of signal to noise.
func logSNR(sigma float64) float64 { return math.Log(1-sigma) - math.Log(sigma) }

func (u *unipc) Next(latents, flow []float32) {
	now := make([]float32, len(latents))
	s := u.sigmas[u.at]
	for i, f := range flow {
		now[i] = float32(float64(latents[i]) - s*float64(f))
	}
	if u.at > 0 {
		u.correct(latents, now)
	}
	u.clean[1], u.clean[0] = u.clean[0], now
	last := len(u.sigmas) - 2
	u.order = min(2, u.at+1, last-u.at+1)
	u.before = append(u.before[:0], latents...)
	w := u.weights(u.at, u.at+1)
	for i := range latents {
		x := w.x*float64(u.before[i]) - w.first*float64(now[i])
		if u.order == 2 {
			x -= w.bend * 0.5 * (float64(u.clean[1][i]) - float64(now[i])) / w.ratio
		}
		latents[i] = float32(x)
	}
	u.at++
}

// solverWeights are the factors of a step from one level to another.
type solverWeights struct {
	x, first, bend float64
	// ratio compares the step before with this one, hh is this one's length, phi the first of its functions.
	ratio, hh, phi float64
}

func (u *unipc) weights(from, to int) solverWeights {
	a, b := u.sigmas[from], u.sigmas[to]
	h := logSNR(b) - logSNR(a)
	w := solverWeights{x: b / a, hh: -h, phi: math.Expm1(-h)}
	w.first, w.bend = (1-b)*w.phi, (1-b)*w.phi
	if from > 0 {
		w.ratio = (logSNR(u.sigmas[from-1]) - logSNR(a)) / h
	}
	return w
}

// correct replaces the latents, which the last step predicted, by what it would have made with the clean latents that the network sees
// from them.
func (u *unipc) correct(latents, now []float32) {
	w := u.weights(u.at-1, u.at)
	old, recent := 0.0, 0.5
	if u.order == 2 {
		old, recent = correctorWeights(w)
	}
	for i := range latents {
		was := float64(u.clean[0][i])
		x := w.x*float64(u.before[i]) - w.first*was - w.bend*recent*(float64(now[i])-was)
		if u.order == 2 {
			x -= w.bend * old * (float64(u.clean[1][i]) - was) / w.ratio
		}
		latents[i] = float32(x)
	}
}

// correctorWeights solve the two conditions of second order for the difference before and the present one.
func correctorWeights(w solverWeights) (old, recent float64) {
	k := w.phi/w.hh - 1
	b1 := k / w.phi
	k = k/w.hh - 0.5
	b2 := k * 2 / w.phi
	// [1 1; ratio 1] [old recent] = [b1 b2]
	old = (b1 - b2) / (1 - w.ratio)
	return old, b1 - old
}
