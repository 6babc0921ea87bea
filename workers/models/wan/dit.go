package wan

import (
	"fmt"
	"math"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// DiT is a diffusion transformer, laid out for one size.
type DiT struct {
	backend kernels.Backend
	cfg     weights.DiTConfig
	act     kernels.DType
	// chunk is how many latent frames are made together, window how many of them the cache holds, sink how many of the first stay.
	chunk, window, sink int
	// condition and raysWidth are the channels beside the latents and the width of the camera's tokens, 0 where there are none.
	condition, raysWidth int
	// rows and columns are those of a frame's tokens, tokens the number of a chunk's.
	rows, columns, tokens int

	patchZ, patchC           kernels.Tensor // the patch embedding's part for latents and for the condition
	patchBias                kernels.Tensor
	text1, text2             linear
	time1, time2, timeBlocks linear
	rays, rays1, rays2       linear
	sight                    sightProjection
	blocks                   []block
	head                     linear
	headModulation           []float32

	still kernels.Tensor // a rotary table that turns nothing
	zero  kernels.Tensor // the ring state that goes with it
	work  *ditWork
}

// ditWork is the work space that sessions share.
type ditWork struct {
	x                  kernels.Tensor // tokens, f32
	a, qkv, q, wide    kernels.Tensor
	given, condition   kernels.Tensor // tokens of what is given, and their patch embedding, f32
	table, ring, queue kernels.Tensor
	rays, hidden, view kernels.Tensor
	scale, shift       []kernels.Tensor // by layer
	latents, flow      kernels.Tensor   // tokens of a step, f32
	text               textWork
	sight              sightWork
}

// textWork is the work space for a text.
type textWork struct{ features, hidden, context, raw kernels.Tensor }

// DiTLayout is what a transformer's work space is made for: chunks of so many latent frames of height x width latents.
type DiTLayout struct {
	Chunk, Height, Width int
	// Window is how many latent frames a cache holds; 0: as many as the configuration says, and without one a chunk, which then is the whole video.
	Window int
}

// NewDiT reads a transformer and lays it out for latents of height x width. The type of activations is f32 or bf16.
func NewDiT(b kernels.Backend, w *weights.Set, c weights.DiTConfig, act kernels.DType, chunk, height, width int) (*DiT, error) {
	m, err := ReadDiT(b, w, c, act)
	if err != nil {
		return nil, err
	}
	return m, m.Lay(DiTLayout{Chunk: chunk, Height: height, Width: width})
}

// ReadDiT reads a transformer. It can do nothing before Lay.
func ReadDiT(b kernels.Backend, w *weights.Set, c weights.DiTConfig, act kernels.DType) (*DiT, error) {
	if err := errorsFirst(checkDiT(c), checkType(act)); err != nil {
		return nil, err
	}
	l := &loader{backend: b, weights: w, act: act}
	m := &DiT{backend: b, cfg: c, act: act, sink: max(c.Sink, 0), condition: c.In - c.Out, raysWidth: rayWidth(c)}
	d := c.Dim
	m.patches(l)
	m.text1, m.text2 = l.linear(d, c.TextDim, "text_embedding.0"), l.linear(d, d, "text_embedding.2")
	m.time1, m.time2 = l.linear(d, c.Freq, "time_embedding.0"), l.linear(d, d, "time_embedding.2")
	m.timeBlocks = l.linear(modulations*d, d, "time_projection.1")
	if m.raysWidth > 0 {
		m.rays = l.linear(d, m.raysWidth, "patch_embedding_wancamctrl")
		m.rays1, m.rays2 = l.linear(d, d, "c2ws_hidden_states_layer1"), l.linear(d, d, "c2ws_hidden_states_layer2")
	}
	if c.Image > 0 {
		m.sight = l.sightProjection(c.Image, d)
	}
	for i := range c.Layers {
		m.blocks = append(m.blocks, l.block(layerName("blocks", i), c))
	}
	m.headOf(l)
	if l.err != nil {
		return nil, fmt.Errorf("wan: transformer: %w", l.err)
	}
	return m, nil
}

// Lay takes the work space for a size. What was laid out before, caches and texts included, must not be used any more.
func (m *DiT) Lay(o DiTLayout) error {
	if err := m.size(o); err != nil {
		return err
	}
	if err := m.lay(); err != nil {
		return fmt.Errorf("wan: transformer: work space: %w", err)
	}
	return nil
}

// LayLike shares the layout and the work space of another transformer of the same shape on the same backend. They take turns, a chunk each.
func (m *DiT) LayLike(o *DiT) error {
	if m.backend != o.backend || m.cfg != o.cfg || m.act != o.act {
		return fmt.Errorf("%w: transformers of different shapes share no work space", ErrConfig)
	}
	m.chunk, m.window, m.rows, m.columns, m.tokens = o.chunk, o.window, o.rows, o.columns, o.tokens
	m.still, m.zero, m.work = o.still, o.zero, o.work
	return nil
}

// size settles the sizes of a layout.
func (m *DiT) size(o DiTLayout) error {
	window := o.Window
	if window == 0 {
		window = max(m.cfg.Local, 0)
	}
	switch {
	case o.Height < patch || o.Width < patch || o.Height%patch != 0 || o.Width%patch != 0:
		return fmt.Errorf("%w: latents of %dx%d", ErrConfig, o.Width, o.Height)
	case o.Chunk < 1 || window > 0 && m.sink+o.Chunk > window:
		return fmt.Errorf("%w: chunks of %d in a window of %d with %d that stay", ErrConfig, o.Chunk, window, m.sink)
	}
	if window == 0 {
		window = o.Chunk
	}
	m.chunk, m.window, m.rows, m.columns = o.Chunk, window, o.Height/patch, o.Width/patch
	m.tokens = m.chunk * m.rows * m.columns
	return nil
}

// patches reads the patch embedding [dim, channels, 1, 2, 2] as matrices over tokens, whose channels come last: (row, column, channel).
func (m *DiT) patches(l *loader) {
	d, z, all := m.cfg.Dim, m.cfg.Out, m.cfg.Out+m.condition
	w := l.floats("patch_embedding.weight", d, all, 1, patch, patch)
	cut := func(from, to int) []float32 {
		out := make([]float32, 0, d*(to-from)*patch*patch)
		for o := range d {
			for p := range patch * patch {
				for i := from; i < to; i++ {
					out = append(out, w[(o*all+i)*patch*patch+p])
				}
			}
		}
		return out
	}
	m.patchZ = l.put(l.act, cut(0, z), d, z*patch*patch)
	if m.condition > 0 {
		m.patchC = l.put(l.act, cut(z, all), d, m.condition*patch*patch)
	}
	m.patchBias = l.vector(l.act, "patch_embedding.bias", d)
}

// headOf reads the head, whose outputs are (row, column, channel) already.
func (m *DiT) headOf(l *loader) {
	m.head = l.linear(m.cfg.Out*patch*patch, m.cfg.Dim, "head.head")
	m.headModulation = l.floats("head.modulation", 1, 2, m.cfg.Dim)
}

// lay takes the work space.
func (m *DiT) lay() error {
	c, n := m.cfg, m.tokens
	w := &ditWork{}
	m.work = w
	var err error
	take := func(t kernels.DType, shape ...int) kernels.Tensor {
		if err != nil {
			return kernels.Tensor{}
		}
		var x kernels.Tensor
		x, err = zeros(m.backend, t, shape...)
		return x
	}
	w.x, w.a, w.q = take(kernels.F32, n, c.Dim), take(m.act, n, c.Dim), take(m.act, n, c.Dim)
	w.qkv, w.wide = take(m.act, n, 3*c.Dim), take(m.act, n, c.FFN)
	w.condition, w.queue = take(kernels.F32, n, c.Dim), take(m.act, n, c.Out*patch*patch)
	if m.condition > 0 {
		w.given = take(m.act, n, m.condition*patch*patch)
	}
	w.ring, w.table = take(kernels.I32, 4), take(kernels.F32, max(m.chunk, m.rows, m.columns), kernels.HeadDim/2, 2)
	if m.raysWidth > 0 {
		w.rays, w.hidden, w.view = take(m.act, n, m.raysWidth), take(m.act, n, c.Dim), take(m.act, n, c.Dim)
		for range c.Layers {
			w.scale, w.shift = append(w.scale, take(m.act, n, c.Dim)), append(w.shift, take(m.act, n, c.Dim))
		}
	}
	w.latents, w.flow = take(kernels.F32, n, c.Out*patch*patch), take(kernels.F32, n, c.Out*patch*patch)
	w.text = textWork{features: take(m.act, c.TextLen, c.TextDim), hidden: take(m.act, c.TextLen, c.Dim), context: take(m.act, c.TextLen, c.Dim), raw: take(m.act, c.TextLen, c.Dim)}
	still := max(n, c.TextLen)
	if c.Image > 0 {
		still = max(still, pictureTokensMax)
		w.sight = sightWork{features: take(kernels.F32, pictureTokensMax, c.Image), wide: take(kernels.F32, pictureTokensMax, c.Dim),
			normed: take(m.act, pictureTokensMax, c.Image), hidden: take(m.act, pictureTokensMax, c.Image),
			context: take(m.act, pictureTokensMax, c.Dim), raw: take(m.act, pictureTokensMax, c.Dim)}
	}
	m.still, m.zero = take(kernels.F32, still, kernels.HeadDim/2, 2), take(kernels.I32, 4)
	if err != nil {
		return err
	}
	one := make([]float32, m.still.Len())
	for i := 0; i < len(one); i += 2 {
		one[i] = 1
	}
	return m.backend.Write(m.still, encode(kernels.F32, one))
}

// normOnly is the norm over a whole row without a rotation: the table turns nothing, wherever a token stands.
func (m *DiT) normOnly(r *runner, x, weight, y kernels.Tensor) {
	r.run(kernels.RMSNormRoPE{X: x, Weight: weight, Table: m.still, State: m.zero, Y: y, GridH: 1, GridW: 1,
		Axes: kernels.Axes{Row: kernels.HeadDim / 2}, Eps: layerNormEps, Factor: 1})
}

// Text are the keys and values that a prompt has in every layer.
type Text struct{ layers []keysValues }

type keysValues struct{ k, v kernels.Tensor }

// NewText reads a text encoder's features [text length, text width] into new keys and values.
func (m *DiT) NewText(features []float32) (*Text, error) {
	t, err := m.EmptyText()
	if err != nil {
		return nil, err
	}
	return t, m.FillText(t, features)
}

// EmptyText takes the memory of a text that FillText fills, as often as the prompt changes.
func (m *DiT) EmptyText() (*Text, error) {
	c, r, t := m.cfg, &runner{backend: m.backend}, &Text{}
	for range m.blocks {
		t.layers = append(t.layers, keysValues{k: r.fresh(m.act, nil, c.TextLen, c.Dim), v: r.fresh(m.act, nil, c.TextLen, c.Dim)})
	}
	if r.err != nil {
		return nil, fmt.Errorf("wan: text: %w", r.err)
	}
	return t, nil
}

// TextBytes is the memory of a text.
func (m *DiT) TextBytes() int64 {
	return int64(2*m.cfg.Layers) * int64(m.cfg.TextLen*m.cfg.Dim*m.act.Bytes())
}

// FillText reads features into the keys and values of a text. Features of fewer tokens than the text length are followed by zeros.
func (m *DiT) FillText(t *Text, features []float32) error {
	c, w := m.cfg, m.work.text
	if len(features) > c.TextLen*c.TextDim || len(features)%c.TextDim != 0 || len(features) == 0 {
		return fmt.Errorf("%w: %d numbers of text, want at most %dx%d", ErrInput, len(features), c.TextLen, c.TextDim)
	}
	padded := make([]float32, c.TextLen*c.TextDim)
	copy(padded, features)
	r := &runner{backend: m.backend}
	r.write(w.features, padded)
	r.run(kernels.Gemm{A: w.features, B: m.text1.w, Bias: m.text1.b, F: kernels.GELU, D: w.hidden})
	r.run(kernels.Gemm{A: w.hidden, B: m.text2.w, Bias: m.text2.b, D: w.context})
	for i := range m.blocks {
		b, kv := &m.blocks[i], t.layers[i]
		r.run(kernels.Gemm{A: w.context, B: b.crossK.w, Bias: b.crossK.b, D: w.raw})
		m.normOnly(r, w.raw, b.crossNormK, kv.k)
		r.run(kernels.Gemm{A: w.context, B: b.crossV.w, Bias: b.crossV.b, D: kv.v})
	}
	if r.err != nil {
		return fmt.Errorf("wan: text: %w", r.err)
	}
	return nil
}

// fresh makes a tensor of numbers, or of zeros.
func (r *runner) fresh(t kernels.DType, v []float32, shape ...int) kernels.Tensor {
	if r.err != nil {
		return kernels.Tensor{}
	}
	var x kernels.Tensor
	if v == nil {
		x, r.err = zeros(r.backend, t, shape...)
	} else {
		x, r.err = newTensor(r.backend, t, v, shape...)
	}
	return x
}

// Times are the modulations of a fixed list of times, made once.
type Times struct {
	layers, dim int
	blocks      kernels.Tensor // [times * layers * 6, dim] f32
	head        kernels.Tensor // [times * 2, dim] f32: shift and scale
}

// part is one vector of a block's modulation.
func (t *Times) part(at, layer, i int) kernels.Tensor {
	r := (at*t.layers+layer)*modulations + i
	return t.blocks.Rows(r, r+1).Reshape(t.dim)
}

func (t *Times) headPart(at, i int) kernels.Tensor {
	r := 2*at + i
	return t.head.Rows(r, r+1).Reshape(t.dim)
}

// NewTimes makes the modulations of times, which are 1000 times the noise level.
func (m *DiT) NewTimes(times []float64) (*Times, error) {
	c, n := m.cfg, len(times)
	wave := make([]float32, n*c.Freq)
	for i, t := range times {
		half := c.Freq / 2
		for k := range half {
			angle := t * math.Exp(-math.Log(10000)*float64(k)/float64(half))
			wave[i*c.Freq+k], wave[i*c.Freq+half+k] = float32(math.Cos(angle)), float32(math.Sin(angle))
		}
	}
	r := &runner{backend: m.backend}
	x, hidden, e := r.fresh(m.act, wave, n, c.Freq), r.fresh(m.act, nil, n, c.Dim), r.fresh(m.act, nil, n, c.Dim)
	soft, all := r.fresh(m.act, nil, n, c.Dim), r.fresh(kernels.F32, nil, n, modulations*c.Dim)
	r.run(kernels.Gemm{A: x, B: m.time1.w, Bias: m.time1.b, F: kernels.SiLU, D: hidden})
	r.run(kernels.Gemm{A: hidden, B: m.time2.w, Bias: m.time2.b, D: e})
	r.run(kernels.Activation{X: e, Y: soft, F: kernels.SiLU})
	r.run(kernels.Gemm{A: soft, B: m.timeBlocks.w, Bias: m.timeBlocks.b, D: all})
	if r.err != nil {
		return nil, fmt.Errorf("wan: times: %w", r.err)
	}
	own, err := read(m.backend, all)
	if err != nil {
		return nil, fmt.Errorf("wan: times: %w", err)
	}
	base, err := read(m.backend, e)
	if err != nil {
		return nil, fmt.Errorf("wan: times: %w", err)
	}
	return m.modulate(own, base, n)
}

// modulate adds the blocks' own modulation.
func (m *DiT) modulate(own, base []float32, n int) (*Times, error) {
	d := m.cfg.Dim
	var blocks, last []float32
	for t := range n {
		for i := range m.blocks {
			for k, v := range m.blocks[i].modulation {
				blocks = append(blocks, v+own[t*modulations*d+k])
			}
		}
		for k, v := range m.headModulation {
			last = append(last, v+base[t*d+k%d])
		}
	}
	r := &runner{backend: m.backend}
	times := &Times{layers: m.cfg.Layers, dim: d,
		blocks: r.fresh(kernels.F32, blocks, n*m.cfg.Layers*modulations, d), head: r.fresh(kernels.F32, last, n*2, d)}
	if r.err != nil {
		return nil, fmt.Errorf("wan: times: %w", r.err)
	}
	return times, nil
}
