package wan

import (
	"fmt"
	"slices"
	"strings"

	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
	"telefuser/workers/models/world"
)

// publicLingBot is the causal, camera-controlled transformer: its blocks one by one at a time, and a video of some chunks.
type publicLingBot struct {
	Width, Height, Chunk, Chunks int
	Local, Sink                  int
	// Shift and Steps are those of the schedule, Time is that of the single pass, Scale the length of a chunk's longest move.
	Shift, Time, Scale float64
	Steps              []int
	Settle             int
	// Quiet is what the weights of the camera's scale and shift are multiplied by, where a seed gives them: of full size they double the
	// tokens in each block, and nothing else would count.
	Quiet float32
	// Blocks asks for a pass block by block before the video.
	Blocks bool
	// Given is how many tokens of text count; the others are zero. Keys are held chunk by chunk.
	Given int
	Keys  []string
}

// publicFilm is the plain transformer over a whole video of latents, with a condition where it reads one. The first latent frames that are known stand at time 0.
type publicFilm struct {
	Frames, Height, Width, Given, Known int
	// Tokens are those of a picture's features, 0 where the model reads none.
	Tokens int
	Time   float64
}

// features are those of a text, zeros behind what counts.
func (p *publicRun) features(c weights.DiTConfig, given int) []float32 {
	return append(p.input("text", 1, given*c.TextDim), make([]float32, (c.TextLen-given)*c.TextDim)...)
}

// begin makes ready a pass at one time, and at time 0 for as many tokens as are known, over latents of noise.
func (p *publicRun) begin(m *DiT, text *Text, condition, rays []float32, time float64, known int) (*step, kernels.Tensor) {
	p.t.Helper()
	cache, err := m.NewCache()
	p.ok(err)
	p.ok(m.Begin(cache, condition, rays))
	times, err := m.NewTimes([]float64{time, 0})
	p.ok(err)
	width := m.cfg.Out * patch * patch
	latents := p.tensor(p.input("latents", 1, m.tokens*width), m.tokens, width)
	return &step{runner: runner{backend: p.b}, dit: m, cache: cache, text: text, times: times, given: given{known, 1}}, latents
}

// flow is what the pass predicts.
func (p *publicRun) flow(s *step, latents kernels.Tensor) []float32 {
	p.t.Helper()
	flow := p.tensor(make([]float32, latents.Len()), latents.Shape...)
	p.ok(s.predict(latents, kernels.Tensor{}, kernels.Tensor{}, flow))
	v, err := read(p.b, flow)
	p.ok(err)
	return v
}

// blocks writes the tokens before and behind each block and the flow of one pass.
func (p *publicRun) blocks(part string, m *DiT, text *Text, sight *Sight, condition, rays []float32, time float64, known int) {
	p.t.Helper()
	s, latents := p.begin(m, text, condition, rays, time, known)
	s.sight = sight
	dump := func(at int) {
		p.ok(s.err)
		x, err := read(p.b, m.work.x)
		p.ok(err)
		p.put(fmt.Sprintf("%s/x.%d", part, at), x)
	}
	m.embed(s, latents)
	dump(0)
	for i := range m.blocks {
		m.blocks[i].run(s, i)
		dump(i + 1)
	}
	p.put(part+"/flow", p.flow(s, latents))
}

func (p *publicRun) film(part string, f *publicFilm) {
	c, err := p.config(part).DiT()
	p.ok(err)
	m, err := NewDiT(p.b, p.weights(part, c.Blueprint()), c, p.act, f.Frames, f.Height, f.Width)
	p.ok(err)
	text, err := m.NewText(p.features(c, f.Given))
	p.ok(err)
	var sight *Sight
	if f.Tokens > 0 {
		sight, err = m.NewSight(p.input("picture", 1, f.Tokens*c.Image))
		p.ok(err)
	}
	p.blocks(part, m, text, sight, p.input("given", 1, m.tokens*m.condition*patch*patch), nil, f.Time, f.Known*m.rows*m.columns)
}

func (p *publicRun) lingbot() {
	l := p.LingBot
	c, err := p.config("lingbot").DiT()
	p.ok(err)
	c.Local, c.Sink = l.Local, l.Sink
	v, err := p.config("vae").VAE()
	p.ok(err)
	w := WorldConfig{VAE: v, DiT: c, Width: l.Width, Height: l.Height, Chunk: l.Chunk, Settle: l.Settle, Scale: l.Scale, Type: p.act}
	w.Sigmas, w.Times, err = TrainedSigmas(l.Shift, l.Steps...)
	p.ok(err)
	m, err := NewWorld(WorldBackends{p.b, p.b, p.b}, p.weights("vae", v.Blueprint()), p.weights("lingbot", quiet(c.Blueprint(), l.Quiet)), w)
	p.ok(err)
	text, err := m.dit.NewText(p.features(c, l.Given))
	p.ok(err)
	video, err := m.NewVideo(p.input("picture", 0.5, 3*l.Width*l.Height))
	p.ok(err)
	camera, err := world.NewCamera(world.LingBotSteps(), nil)
	p.ok(err)
	for i := range l.Chunks {
		at := func(name string) string { return fmt.Sprintf("lingbot/%s.%d", name, i) }
		p.ok(camera.Hold(l.Keys[i%len(l.Keys)]))
		s := camera.Next(l.Chunk)
		condition, err := m.Condition(video)
		p.ok(err)
		rays, err := world.Rays(world.Relatives(s.From, s.Poses, 0, l.Scale), world.DefaultIntrinsics(l.Width, l.Height), l.Width, l.Height)
		p.ok(err)
		if i == 0 && l.Blocks {
			p.blocks("lingbot", m.dit, text, nil, condition, rays, l.Time, 0)
		}
		latents, err := m.Denoise(p.t.Context(), video, text, condition, s, SeededNoise(int64(p.Seed), int64(i)))
		p.ok(err)
		frames, err := m.Decode(video, latents)
		p.ok(err)
		p.put(at("condition"), condition)
		p.put(at("rays"), rays)
		p.put(at("latents"), latents)
		p.put(at("frames"), frames)
	}
}

// quiet makes the camera's scale and shift of every block smaller.
func quiet(b weights.Blueprint, factor float32) weights.Blueprint {
	b.Parameters = slices.Clone(b.Parameters)
	for i, q := range b.Parameters {
		if strings.Contains(q.Name, ".cam_scale_layer.") || strings.Contains(q.Name, ".cam_shift_layer.") {
			b.Parameters[i].Sigma *= factor
		}
	}
	return b
}
