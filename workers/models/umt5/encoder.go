package umt5

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// sideStep divides the sides of all matrices.
const sideStep = 16

// roundUp is the next multiple of sideStep.
func roundUp(n int) int { return (n + sideStep - 1) / sideStep * sideStep }

// Options say how an encoder works.
type Options struct {
	// Type is that of matrices and what they multiply, BF16 or F32. Sums between layers are F32.
	Type kernels.DType
	// Resident keeps all layers on the backend; else one layer's memory is filled anew for each.
	Resident bool
	// TokensMax is the longest text, in tokens; 0: 512.
	TokensMax int
}

// Encoder is a UMT5 text encoder on a backend: per-layer biases by relative position, scores
// that are not scaled, a gated GELU, and norms without mean. Only tokens that count are computed.
type Encoder struct {
	config  weights.UMT5Config
	set     *weights.Set
	backend kernels.Backend
	options Options
	mu      sync.Mutex // one text at a time
	layers  []layer    // all, or one that is filled anew
	norm    kernels.Tensor
	work    workspace
}

// NewEncoder makes an encoder on a backend, whose memory it takes for good.
func NewEncoder(b kernels.Backend, s *weights.Set, c weights.UMT5Config, o Options) (*Encoder, error) {
	if o.TokensMax == 0 {
		o.TokensMax = 512
	}
	inner := c.Heads * c.HeadDim
	for _, n := range []int{c.Dim, inner, c.HeadDim, c.FFN} {
		if n%sideStep != 0 {
			return nil, fmt.Errorf("%w: an encoder with sides of %d; they must be multiples of %d", weights.ErrConfig, n, sideStep)
		}
	}
	if o.Type != kernels.F32 && o.Type != kernels.BF16 {
		return nil, fmt.Errorf("%w: an encoder in %v", weights.ErrConfig, o.Type)
	}
	e := &Encoder{config: c, set: s, backend: b, options: o}
	kept := 1
	if o.Resident {
		kept = c.Layers
	}
	for i := range kept {
		l, err := e.newLayer()
		if err == nil && o.Resident {
			err = e.fill(l, i)
		}
		if err != nil {
			return nil, fmt.Errorf("umt5: layer %d: %w", i, err)
		}
		e.layers = append(e.layers, l)
	}
	var err error
	if e.norm, err = s.Tensor(b, kernels.F32, "norm.weight"); err != nil {
		return nil, fmt.Errorf("umt5: %w", err)
	}
	return e, nil
}

// Encode gives the features of tokens, [tokens that count, dim] in one row after the other.
// The error wraps ErrText if there are more than TokensMax, or some that are no piece.
func (e *Encoder) Encode(t Tokens) ([]float32, error) {
	if t.Length < 1 || t.Length > len(t.IDs) || t.Length > e.options.TokensMax {
		return nil, fmt.Errorf("%w: %d tokens of %d; at most %d are encoded", ErrText, t.Length, len(t.IDs), e.options.TokensMax)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	w, err := e.workspace(roundUp(t.Length))
	if err != nil {
		return nil, fmt.Errorf("umt5: %w", err)
	}
	if err := e.embed(w, t.IDs[:t.Length]); err != nil {
		return nil, err
	}
	for i := range e.config.Layers {
		l, err := e.layer(i)
		if err == nil {
			err = e.block(w, l, i, t.Length)
		}
		if err != nil {
			return nil, fmt.Errorf("umt5: layer %d: %w", i, err)
		}
	}
	eps := float32(e.config.Eps)
	if err := e.backend.Run(kernels.RMSNorm{X: w.x, Y: w.x, Gain: e.norm, Eps: eps}); err != nil {
		return nil, fmt.Errorf("umt5: %w", err)
	}
	return e.features(w, t.Length)
}

// embed writes the tokens' rows of the table, zeros behind them. The table stays where it is: a
// text needs few of its rows.
func (e *Encoder) embed(w *workspace, ids []int32) error {
	dim := e.config.Dim
	rows := make([]byte, 4*w.n*dim)
	for i, id := range ids {
		if id < 0 || int(id) >= e.config.Vocabulary {
			return fmt.Errorf("%w: token %d is no piece", ErrText, id)
		}
		if err := e.set.Bytes(rows[4*i*dim:4*(i+1)*dim], kernels.F32, "token_embedding.weight", int(id)*dim); err != nil {
			return fmt.Errorf("umt5: %w", err)
		}
	}
	return e.backend.Write(w.x, rows)
}

// features fetches the first rows.
func (e *Encoder) features(w *workspace, rows int) ([]float32, error) {
	x := w.x.Rows(0, rows)
	data := make([]byte, x.Span())
	if err := e.backend.Read(data, x); err != nil {
		return nil, fmt.Errorf("umt5: %w", err)
	}
	out := make([]float32, x.Len())
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out, nil
}
