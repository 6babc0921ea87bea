package wan

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"testing"

	"telefuser/workers/gpu"
	"telefuser/workers/kernels"
	"telefuser/workers/models/weights"
)

// publicPlan is what testdata/public.py asks for, plan.json in the folder TELEFUSER_PUBLIC. Parts that are not asked for are left out.
type publicPlan struct {
	Seed uint64 `json:"seed"`
	// BF16 is the type of activations, else f32; GPU asks for the first one.
	BF16    bool           `json:"bf16"`
	GPU     bool           `json:"gpu"`
	LingBot *publicLingBot `json:"lingbot"`
	Film    *publicFilm    `json:"film"`
	TI2V    *publicFilm    `json:"ti2v"`
	Sight   *publicFilm    `json:"sight"`
	Clip    *publicClip    `json:"clip"`
	VAE     *publicVAE     `json:"vae"`
	VAE22   *publicVAE     `json:"vae22"`
	Text    *publicText    `json:"text"`
	Solver  *publicSolver  `json:"solver"`
}

// publicRun is one run of the plan: raw f32 files go to the folder's out/.
type publicRun struct {
	t *testing.T
	publicPlan
	dir string
	act kernels.DType
	b   kernels.Backend
}

// TestPublic makes what testdata/public.py holds to public implementations of the same networks. It compares nothing itself.
func TestPublic(t *testing.T) {
	dir := os.Getenv("TELEFUSER_PUBLIC")
	if dir == "" {
		t.Skip("TELEFUSER_PUBLIC names no folder made by testdata/public.py")
	}
	publicParts(t, dir)
}

// publicParts makes all parts that the plan in a folder asks for.
func publicParts(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "plan.json"))
	if err != nil {
		t.Fatal(err)
	}
	p := &publicRun{dir: dir, act: kernels.F32}
	if err := json.Unmarshal(text, &p.publicPlan); err != nil {
		t.Fatal(err)
	}
	if p.BF16 {
		p.act = kernels.BF16
	}
	for name, part := range map[string]struct {
		asked bool
		run   func()
	}{
		"lingbot": {p.LingBot != nil, p.lingbot}, "text": {p.Text != nil, p.text}, "solver": {p.Solver != nil, p.solver},
		"film": {p.Film != nil, func() { p.film("film", p.Film) }}, "ti2v": {p.TI2V != nil, func() { p.film("ti2v", p.TI2V) }},
		"sight": {p.Sight != nil, func() { p.film("sight", p.Sight) }}, "clip": {p.Clip != nil, p.pictures},
		"vae": {p.VAE != nil, func() { p.vae("vae", p.VAE) }}, "vae22": {p.VAE22 != nil, func() { p.vae("vae22", p.VAE22) }},
	} {
		if !part.asked {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p.t, p.b = t, kernels.NewCPU(kernels.CPUOptions{})
			if p.GPU {
				p.b = publicGPU(t)
			}
			part.run()
			p.ok(os.WriteFile(filepath.Join(p.dir, "out", name, "done"), nil, 0o600))
		})
	}
}

// publicGPU is a backend on the first GPU.
func publicGPU(t *testing.T) kernels.Backend {
	t.Helper()
	d, err := gpu.Open()
	if err != nil {
		t.Fatal(err)
	}
	b, err := kernels.OpenThreaded(t.Context(), d, 0, kernels.CUDAOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// ok ends the test at an error.
func (p *publicRun) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// config reads a network's config.json.
func (p *publicRun) config(part string) weights.Config {
	p.t.Helper()
	c, err := weights.ReadConfig(filepath.Join(p.dir, part, weights.ConfigName))
	p.ok(err)
	return c
}

// weights opens the part's file, or makes weights from the plan's seed where there is none. names.json holds the public implementation's
// names: parameters.json says what they are here, so that the script can make the same values.
func (p *publicRun) weights(part string, b weights.Blueprint) *weights.Set {
	p.t.Helper()
	p.parameters(part, b)
	files, err := filepath.Glob(filepath.Join(p.dir, part, "*.safetensors"))
	p.ok(err)
	if len(files) == 0 {
		return weights.Random(p.Seed, b)
	}
	s, err := weights.Load(filepath.Join(p.dir, part), b)
	p.ok(err)
	p.t.Cleanup(func() { p.ok(s.Close()) })
	return s
}

func (p *publicRun) parameters(part string, b weights.Blueprint) {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, part, "names.json"))
	p.ok(err)
	var names []string
	p.ok(json.Unmarshal(text, &names))
	own, out := map[string]weights.Parameter{}, map[string]weights.Parameter{}
	for _, q := range b.Parameters {
		own[q.Name] = q
	}
	for _, name := range names {
		q, ok := own[name]
		if !ok && b.Rename != nil {
			q, ok = own[b.Rename(name)]
		}
		if !ok {
			p.t.Fatalf("%s: the public implementation has %s", part, name)
		}
		delete(own, q.Name)
		out[name] = q
	}
	for name := range own {
		if name != "mean" && name != "std" {
			p.t.Errorf("%s: the public implementation has no %s", part, name)
		}
	}
	text, err = json.Marshal(out)
	p.ok(err)
	p.ok(os.WriteFile(filepath.Join(p.dir, part, "parameters.json"), text, 0o600))
}

// input makes numbers by the plan's seed and a name, rounded as they will be used.
func (p *publicRun) input(name string, sigma float32, n int) []float32 {
	p.t.Helper()
	h := fnv.New64a()
	h.Write([]byte("input." + name))
	if n == 0 {
		return nil
	}
	x, err := p.b.New(kernels.F32, n)
	p.ok(err)
	p.ok(p.b.Run(kernels.Noise{Y: x, Seed: p.Seed, Stream: h.Sum64(), Sigma: sigma}))
	v, err := read(p.b, x)
	p.ok(err)
	return v
}

// put writes numbers to out/name.f32.
func (p *publicRun) put(name string, v []float32) {
	p.t.Helper()
	raw := make([]byte, 0, 4*len(v))
	for _, f := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	path := filepath.Join(p.dir, "out", name+".f32")
	p.ok(os.MkdirAll(filepath.Dir(path), 0o700))
	p.ok(os.WriteFile(path, raw, 0o600))
}

// tensor brings numbers to the backend as f32.
func (p *publicRun) tensor(v []float32, shape ...int) kernels.Tensor {
	p.t.Helper()
	x, err := newTensor(p.b, kernels.F32, v, shape...)
	p.ok(err)
	return x
}
