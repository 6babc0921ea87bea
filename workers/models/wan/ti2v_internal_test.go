package wan

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// The networks of testdata/public.py's plan "golden": those of Wan 2.2 TI2V 5B, small.
const (
	goldenSeed                              = 21
	goldenFrames, goldenHeight, goldenWidth = 3, 4, 6 // latents
	goldenGiven                             = 5       // tokens of text
)

func goldenVAE() weights.VAEConfig {
	c := weights.Wan22VAE()
	c.Base, c.DecoderBase = 8, 16
	for i := range c.Z {
		c.Mean[i], c.Std[i] = 0.3*math.Sin(float64(i)), 0.7+0.4*math.Cos(5*float64(i))
	}
	return c
}

func goldenDiT() weights.DiTConfig {
	return weights.DiTConfig{
		Dim: 256, FFN: 512, Layers: 2, Heads: 2, In: 48, Out: 48, Patch: [3]int{1, patch, patch}, TextDim: 64, TextLen: 512, Freq: 64, Local: -1, Eps: layerNormEps,
	}
}

// goldenRun makes inputs as the plan has them, on the processor.
func goldenRun(t *testing.T, act kernels.DType) *publicRun {
	t.Helper()
	return &publicRun{t: t, publicPlan: publicPlan{Seed: goldenSeed}, act: act, b: kernels.NewCPU(kernels.CPUOptions{})}
}

// golden reads a tensor that the public networks have made.
func (p *publicRun) golden(name string) []float32 {
	p.t.Helper()
	f, err := weights.OpenFile("testdata/golden_ti2v.safetensors")
	p.ok(err)
	defer f.Close()
	at := slices.IndexFunc(f.Entries(), func(e weights.Entry) bool { return e.Name == name })
	if at < 0 {
		p.t.Fatalf("there is no %s", name)
	}
	e := f.Entries()[at]
	return decode(map[weights.Type]kernels.DType{weights.F32: kernels.F32, weights.BF16: kernels.BF16}[e.Type], f.Data(e))
}

// agree wants numbers to be near others: by the norm of the difference over that of what is wanted, and by PSNR over the span of that.
func (p *publicRun) agree(what string, got, want []float32, differMax, psnrMin float64) {
	p.t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		p.t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	var off, all float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		off, all = off+d*d, all+float64(w)*float64(w)
	}
	span := float64(slices.Max(want)) - float64(slices.Min(want))
	differ, psnr := math.Sqrt(off/all), 20*math.Log10(span)-10*math.Log10(max(off/float64(len(want)), 1e-30))
	p.t.Logf("%s: differs by %.2g, %.1f dB", what, differ, psnr)
	if !(differ <= differMax) || psnr < psnrMin {
		p.t.Errorf("%s differs by %g, %.1f dB", what, differ, psnr)
	}
}

// bound is what a type of activations is held to: relative error of a block, of a whole pass and of a video, and PSNR of the VAE.
type bound struct{ block, pass, video, psnr float64 }

var bounds = map[kernels.DType]bound{ //nolint:gochecknoglobals // constant table
	kernels.F32: {1e-4, 1e-4, 1e-3, 55}, kernels.BF16: {5e-3, 0.02, 0.1, 45}, // the golden frames are of bf16
}

// TestTI2VAgreesWithPublicNetworks holds the VAE of Wan 2.2 and the transformer whose first latent frame is given to what testdata/public.py has made with
// public implementations of them: chunks there and back, each block from the public one's tokens, and the whole pass.
func TestTI2VAgreesWithPublicNetworks(t *testing.T) {
	for act, most := range bounds {
		t.Run(act.String(), func(t *testing.T) { goldenRun(t, act).networks(most) })
	}
}

// TestTI2VOnCUDA is all of that, and the video, on a GPU.
func TestTI2VOnCUDA(t *testing.T) {
	if d, err := gpu.Open(); err != nil {
		t.Skipf("needs an NVIDIA GPU: %v", err)
	} else if n, err := d.Count(); err != nil || n < 1 {
		t.Skipf("needs an NVIDIA GPU: there are %d, %v", n, err)
	}
	p := goldenRun(t, kernels.BF16)
	p.b = publicGPU(t)
	p.networks(bounds[p.act])
	b := publicGPU(t)
	p.video(WorldBackends{Encode: b, Denoise: p.b, Decode: b}, bounds[p.act].video)
}

// networks holds the VAE and the transformer.
func (p *publicRun) networks(most bound) {
	p.t.Helper()
	c := goldenVAE()
	latents, frames := p.clip(c, weights.Random(goldenSeed, c.Blueprint()), &publicVAE{Width: 96, Height: 64, Chunk: 2, Chunks: 2})
	p.agree("latents", slices.Concat(latents...), p.golden("vae.latents"), 1, most.psnr)
	const picture = 96 * 64 * 3
	all := slices.Concat(frames...)
	var some []float32
	for _, i := range []int{0, 1, 4, 12} {
		for _, v := range all[i*picture : (i+1)*picture] {
			some = append(some, min(max(v, -1), 1)) // as theirs are
		}
	}
	p.agree("frames", some, p.golden("vae.frames"), 1, most.psnr)
	p.transformer(most.block, most.pass)
}

// transformer gives each block the tokens that the public one got.
func (p *publicRun) transformer(blockMax, passMax float64) {
	p.t.Helper()
	c := goldenDiT()
	m, err := NewDiT(p.b, weights.Random(goldenSeed, c.Blueprint()), c, p.act, goldenFrames, goldenHeight, goldenWidth)
	p.ok(err)
	text, err := m.NewText(p.features(c, goldenGiven))
	p.ok(err)
	s, latents := p.begin(m, text, nil, nil, 612, m.rows*m.columns)
	for i := range m.blocks {
		p.ok(p.b.Write(m.work.x, encode(kernels.F32, p.golden(fmt.Sprintf("x.%d", i)))))
		m.blocks[i].run(s, i)
		p.ok(s.err)
		x, err := read(p.b, m.work.x)
		p.ok(err)
		p.agree(fmt.Sprintf("block %d", i), x, p.golden(fmt.Sprintf("x.%d", i+1)), blockMax, 0)
	}
	got, want := p.flow(s, latents), p.golden("flow")
	p.agree("flow", got, want, passMax, 0)
	var dot, a, b float64
	for i := range want {
		x, y := float64(got[i]), float64(want[i])
		dot, a, b = dot+x*y, a+x*x, b+y*y
	}
	if cosine := dot / math.Sqrt(a*b); !(cosine >= 0.999) {
		p.t.Errorf("the flow's cosine is %g", cosine)
	}
}

// TestTI2VMakesTheVideoOfPublicNetworks makes a video that begins with a picture, in four steps, led by one text and away from another.
func TestTI2VMakesTheVideoOfPublicNetworks(t *testing.T) {
	for act, most := range bounds {
		t.Run(act.String(), func(t *testing.T) { goldenRun(t, act).video(OnCPU(), most.video) })
	}
}

// video holds a video to the public one. Without a picture it is another one, behind the picture too.
func (p *publicRun) video(b WorldBackends, differMax float64) {
	p.t.Helper()
	c := FilmConfig{VAE: goldenVAE(), DiT: goldenDiT(), Given: true, Chunk: 2, Settle: 1, Type: p.act}
	f, err := NewFilm(b, weights.Random(goldenSeed, c.VAE.Blueprint()), []*weights.Set{weights.Random(goldenSeed, c.DiT.Blueprint())}, c)
	p.ok(err)
	stride := Stride(c.VAE)
	picture := p.input("picture", 0.5, 3*stride*goldenHeight*stride*goldenWidth)
	with, without := p.walked(f, picture), p.walked(f, nil)
	p.agree("video", with, p.golden("video"), differMax, 0)
	if slices.Equal(with[len(with)/2:], without[len(without)/2:]) {
		p.t.Error("a picture changes nothing of what comes after it")
	}
	if again := p.walked(f, picture); !slices.Equal(with, again) {
		p.t.Error("the same video is another one")
	}
}

// walked are the latents of a video.
func (p *publicRun) walked(f *Film, picture []float32) []float32 {
	p.t.Helper()
	stride := Stride(f.cfg.VAE)
	take, err := f.Begin(goldenFrames, stride*goldenHeight, stride*goldenWidth)
	p.ok(err)
	n := goldenGiven * f.cfg.DiT.TextDim
	p.ok(take.Lead(p.input("text", 1, n), p.input("against", 1, n), []float64{5}))
	if picture != nil {
		p.ok(take.Picture(picture))
	}
	solver, err := NewUniPC(FlowSigmas(5, 4))
	p.ok(err)
	latents, err := take.Walk(p.t.Context(), solver, SeededNoise(goldenSeed, 0), func(float64) {})
	p.ok(err)
	return latents
}

// TestWorkSpaceBeginsWithAnything fills the work space with what is no number, between two chunks of one clip: nothing of it is read before it was written.
func TestWorkSpaceBeginsWithAnything(t *testing.T) {
	p := goldenRun(t, kernels.F32)
	c := goldenVAE()
	set := weights.Random(goldenSeed, c.Blueprint())
	const height, width, latents = 16, 16, 2 // one position a frame, so that attention has 15 hidden keys
	e, err := NewEncoder(p.b, set, c, p.act, latents, height, width)
	p.ok(err)
	d, err := NewDecoder(p.b, set, c, p.act, latents, height/16, width/16)
	p.ok(err)
	spoil := func(w *vaeWork) {
		for _, b := range []*buffer{&w.current, &w.spare, &w.around, &w.hidden, &w.padded, &w.values, &w.scores} {
			anything := make([]float32, b.mem.Len())
			for i := range anything {
				anything[i] = float32(math.NaN())
			}
			p.ok(p.b.Write(b.mem, encode(p.act, anything)))
		}
	}
	run := func(before func()) (all []float32) {
		from, err := e.NewState()
		p.ok(err)
		to, err := d.NewState()
		p.ok(err)
		for chunk, frames := range []int{5, 8} {
			before()
			made, err := e.Encode(from, p.input(fmt.Sprintf("frames.%d", chunk), 0.5, frames*height*width*3))
			p.ok(err)
			before()
			back, err := d.Decode(to, made)
			p.ok(err)
			all = append(append(all, made...), back...)
		}
		return all
	}
	if !slices.Equal(run(func() {}), run(func() { spoil(e.work); spoil(d.work) })) {
		t.Error("what lay in the work space before is in the clip")
	}
}
