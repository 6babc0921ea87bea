package pipeline

import "telefuser/workers/models/weights"

// The small models have the structure of the true ones, every part of it, and a few thousandths of their size. They run on the processor, with weights from a
// seed; tests of everything that has to do with models stand on them. They are in the table of programs built with the tag "faults" alone: no other reaches them
// by a name.
const (
	smallWorldName = "small-world"
	smallTableName = "small-table"
	smallFastName  = "small-fast"
	smallFilmName  = "small-film"
	smallPairName  = "small-pair"
	smallTI2VName  = "small-ti2v"
	smallSightName = "small-sight"
)

// smallSeed makes the weights where the options name no other.
const smallSeed = "random:7"

// NewSmallWorld makes a small LingBot-World v2: 64 x 32 pixels.
func NewSmallWorld(o Options) (Pipeline, error) { return newWorld(smallWorld)(seeded(o)) }

// NewSmallFast makes a small LingBot-World-Fast that remembers 12 latent frames, and NewSmallTable a small tiny-world: 64 x 32 pixels.
func NewSmallFast(o Options) (Pipeline, error) { return newWorld(smallFast)(seeded(o)) }

// NewSmallTable is told of above; its pictures are 64 x 64.
func NewSmallTable(o Options) (Pipeline, error) { return newWorld(smallTable)(seeded(o)) }

// NewSmallFilm makes a small Wan 2.1, and NewSmallPair a small Wan 2.2 that begins with a picture: 64 x 32 pixels.
func NewSmallFilm(o Options) (Pipeline, error) { return newFilm(smallFilm)(seeded(o)) }

// NewSmallSight makes a small Wan 2.1 that begins with a picture and reads its features.
func NewSmallSight(o Options) (Pipeline, error) { return newFilm(smallSight)(seeded(o)) }

// NewSmallPair is told of above.
func NewSmallPair(o Options) (Pipeline, error) { return newFilm(smallPair)(seeded(o)) }

// NewSmallTI2V makes a small Wan 2.2 TI2V 5B: 64 x 32 pixels.
func NewSmallTI2V(o Options) (Pipeline, error) { return newFilm(smallTI2V)(seeded(o)) }

func seeded(o Options) Options {
	if o.Weights == "" && o.ModelsDir == "" {
		o.Weights = smallSeed
	}
	return o
}

// The sizes of the small models' pictures.
const (
	smallWidth  = 64
	smallHeight = 32
)

// smaller takes a model's true shape down.
func smaller(m modelShape, name string) modelShape {
	const heads, layers, ffn, textDim, textLen = 2, 2, 128, 64, 16
	m.name, m.folders, m.others = name, []string{name}, nil
	m.dit.Dim, m.dit.Heads, m.dit.Layers, m.dit.FFN, m.dit.TextDim, m.dit.TextLen, m.dit.Freq = heads*128, heads, layers, ffn, textDim, textLen, 64
	m.vae.Base, m.vae.Multiples, m.vae.ResBlocks = 16, []int{1, 1, 2, 2}, 1
	if m.vae.DecoderBase > 0 {
		m.vae.DecoderBase = 24
	}
	if m.image != nil { // heads of 80, as the true one's
		m.dit.Image, m.image = 160, &weights.CLIPConfig{Dim: 160, Heads: 2, FFN: 128, Layers: 3, Side: 56, Patch: 14, Eps: 1e-5, Joined: true}
	}
	if m.text == nil {
		return m
	}
	m.text = &weights.UMT5Config{Vocabulary: 512, Dim: textDim, Heads: 2, HeadDim: 32, FFN: 96, Layers: 2, Buckets: 32, Distance: 128, Eps: 1e-6}
	return m
}

func smallWorld() worldKind { return smallerWorld(lingbotV2Kind(), smallWorldName) }

func smallTable() worldKind {
	k := smallerWorld(tinyKind(), smallTableName)
	g := &k.contract.Geometry // the least that terrain draws a first picture of
	g.DefaultHeight, g.HeightMin, g.PixelsMax = smallWidth, smallWidth, smallWidth*smallWidth
	return k
}

func smallFast() worldKind {
	k := smallerWorld(lingbotFastKind(), smallFastName)
	k.window = 12
	return k
}

func smallerWorld(k worldKind, name string) worldKind {
	k.shape = smaller(k.shape, name)
	g := &k.contract.Geometry
	g.DefaultWidth, g.DefaultHeight, g.WidthMin, g.HeightMin, g.SideMax, g.PixelsMax = smallWidth, smallHeight, smallWidth, smallHeight, smallWidth, smallWidth*smallHeight
	k.contract.Name, k.contract.OwnedBy, k.contract.Device.CPU, k.contract.Device.GPUs = name, "telefuser", true, 0
	return k
}

func smallFilm() filmKind { return smallerFilm(wanT2VSmall(), smallFilmName) }

func smallPair() filmKind { return smallerFilm(wan22I2V(), smallPairName) }

func smallTI2V() filmKind { return smallerFilm(ti2vKind(), smallTI2VName) }

func smallSight() filmKind { return smallerFilm(wanI2V(), smallSightName) }

func smallerFilm(k filmKind, name string) filmKind {
	k.shape = smaller(k.shape, name)
	g := &k.contract.Geometry
	g.DefaultWidth, g.DefaultHeight, g.WidthMin, g.HeightMin, g.SideMax, g.PixelsMax = smallWidth, smallHeight, smallHeight, smallHeight, smallWidth, smallWidth*smallHeight
	g.Sizes = []string{"64x32", "32x64"}
	k.contract.Name, k.contract.OwnedBy, k.contract.Device.CPU, k.contract.Device.GPUs, k.steps = name, "telefuser", true, 0, 4
	return k
}
