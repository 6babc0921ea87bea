package wan

import "telefuser/workers/kernels"

// modulation is a part of a modulation at one of a step's times.
type modulation func(at int) kernels.Tensor

// span is tokens of a step that stand at one time.
type span struct{ from, to, at int }

// given are the first tokens of a step where they are known already: they stand at the time of no noise, which is another one of the step's times.
type given struct{ tokens, at int }

// spans are all tokens of the step, by their times.
func (s *step) spans() []span {
	all, known := s.dit.tokens, s.given.tokens
	switch known {
	case 0:
		return []span{{0, all, s.at}}
	case all:
		return []span{{0, all, s.given.at}}
	}
	return []span{{0, known, s.given.at}, {known, all, s.at}}
}

// modulate norms the tokens, with a scale and a shift of their times.
func (s *step) modulate(scale, shift modulation) {
	w := s.dit.work
	for _, p := range s.spans() {
		s.run(kernels.LayerNorm{X: w.x.Rows(p.from, p.to), Y: w.a.Rows(p.from, p.to), Gain: scale(p.at), Shift: shift(p.at), PlusOne: true, Eps: layerNormEps})
	}
}

// add adds a product to the tokens, times a gate of their times.
func (s *step) add(x kernels.Tensor, by linear, gate modulation) {
	w := s.dit.work
	for _, p := range s.spans() {
		to := w.x.Rows(p.from, p.to)
		s.run(kernels.Gemm{A: x.Rows(p.from, p.to), B: by.w, Bias: by.b, Gate: gate(p.at), Residual: to, D: to})
	}
}
