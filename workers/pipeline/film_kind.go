package pipeline

import (
	"telefuser/workers/contract"
	"telefuser/workers/models/weights"
)

// filmKind is what tells one model that denoises a whole video at once from another.
type filmKind struct {
	contract contract.Contract
	shape    modelShape
	// shift bends the noise levels of a small picture and of a large one, of more than 832 x 480 pixels.
	shift, shiftLarge float64
	// steps and scales are used where a request says nothing; there is a scale for each transformer, that for much noise first.
	steps  int
	scales []float64
	// boundary is the noise level from which on the first of two transformers works, settle after how many latent frames a picture's condition stays the
	// same.
	boundary float64
	settle   int
	// given says that a video may begin with a picture, which then is its first latent frame.
	given bool
}

// shiftOf is the shift for a size.
func (k filmKind) shiftOf(width, height int) float64 {
	if width*height > 832*480 {
		return k.shiftLarge
	}
	return k.shift
}

// picture says that a video begins with a picture, and whether it has to.
func (k filmKind) picture() (may, must bool) {
	must = k.shape.dit.In > k.shape.dit.Out
	return must || k.given, must
}

// The sizes of Wan.
func wanSizes(large bool) []string {
	sizes := []string{"832x480", "480x832"}
	if large {
		sizes = append(sizes, "1280x720", "720x1280")
	}
	return sizes
}

// wanShape is where the weights of a Wan model lie.
func wanShape(name string, dit weights.DiTConfig, parts []weights.Part, folder string) modelShape {
	text := weights.UMT5XXL()
	return modelShape{name: name, folders: []string{name, folder}, transformers: parts, dit: dit, vae: weights.Wan21VAE(), text: &text}
}

// The channels of a transformer that is given nothing, and of one that is given a picture: noise, mask and the picture's latents.
const (
	wanPlain   = 16
	wanPicture = 16 + 4 + 16
)

// wan21Kind is a model of Wan 2.1 with one transformer.
func wan21Kind(name, folder string, dit weights.DiTConfig, large bool) filmKind {
	k := filmKind{
		contract: wanContract(name, dit, 1, large), shape: wanShape(name, dit, []weights.Part{weights.PartDiT}, folder),
		shift: 5, shiftLarge: 5, steps: 50, scales: []float64{5}, settle: lingbotSettle,
	}
	return k
}

// wan22Kind is a model of Wan 2.2 with a transformer for much noise and one for little.
func wan22Kind(name, folder string, dit weights.DiTConfig, shift, boundary float64, scales ...float64) filmKind {
	return filmKind{
		contract: wanContract(name, dit, len(scales), true), shape: wanShape(name, dit, []weights.Part{weights.PartHighNoise, weights.PartLowNoise}, folder),
		shift: shift, shiftLarge: shift, steps: 40, scales: scales, boundary: boundary, settle: lingbotSettle,
	}
}

// wanT2VSmall is Wan 2.1 with 1.3 B parameters, for small pictures.
func wanT2VSmall() filmKind {
	dit := weights.DiTConfig{
		Dim: 1536, FFN: 8960, Layers: 30, Heads: 12, In: wanPlain, Out: 16, Patch: [3]int{1, 2, 2}, TextDim: 4096, TextLen: 512, Freq: 256, Local: -1, Eps: 1e-6,
	}
	k := wan21Kind("wan2.1-t2v-1.3b", "Wan2.1-T2V-1.3B", dit, false)
	k.shift, k.scales = 8, []float64{6}
	return k
}

func wanT2V() filmKind { return wan21Kind("wan2.1-t2v-14b", "Wan2.1-T2V-14B", wan14B(wanPlain), true) }

// wanI2V is Wan 2.1 that begins with a picture and sees it besides. Its two checkpoints were trained with large and with small pictures.
func wanI2V() filmKind {
	dit, clip := wan14B(wanPicture), weights.CLIPViTH()
	dit.Image = clip.Dim
	k := wan21Kind("wan2.1-i2v-14b", "Wan2.1-I2V-14B-720P", dit, true)
	k.shape.folders, k.shape.image = append(k.shape.folders, "Wan2.1-I2V-14B-480P"), &clip
	k.shift, k.steps = 3, 40
	return k
}

func wan22T2V() filmKind {
	return wan22Kind("wan2.2-t2v-a14b", "Wan2.2-T2V-A14B", wan14B(wanPlain), 12, 0.875, 4, 3)
}

func wan22I2V() filmKind {
	return wan22Kind("wan2.2-i2v-a14b", "Wan2.2-I2V-A14B", wan14B(wanPicture), 5, 0.9, 3.5, 3.5)
}
