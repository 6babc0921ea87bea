package pipeline

import (
	"fmt"
	"path/filepath"
	"strings"

	"telefuser/workers/models/wan"
	"telefuser/workers/models/weights"
	"telefuser/workers/models/world"
)

// The pictures of tiny-world.
const (
	tinyName   = "tiny-world"
	tinyWidth  = 160
	tinyHeight = 96
	tinyFPS    = 16
)

// tinyBiomes are the texts that tiny-world knows, in the order of its table; the row after the last one stands for none of them.
func tinyBiomes() []string {
	return []string{"meadow", "desert", "arctic", "autumn", "dusk", "alien", "volcano", "jungle"}
}

// tinyBiome is the row of the first biome that a prompt names, by its own word or by one that means the same.
func tinyBiome(prompt string) int {
	means := map[string]string{
		"grass": "meadow", "green": "meadow", "field": "meadow", "valley": "meadow", "spring": "meadow", "hill": "meadow", "hills": "meadow",
		"sand": "desert", "dunes": "desert", "dune": "desert", "dry": "desert", "savanna": "desert",
		"snow": "arctic", "ice": "arctic", "winter": "arctic", "snowy": "arctic", "polar": "arctic", "frozen": "arctic",
		"fall": "autumn", "october": "autumn", "evening": "dusk", "sunset": "dusk", "night": "dusk", "twilight": "dusk",
		"planet": "alien", "strange": "alien", "purple": "alien", "lava": "volcano", "volcanic": "volcano", "ash": "volcano",
		"forest": "jungle", "rainforest": "jungle", "tropical": "jungle", "trees": "jungle",
	}
	names := tinyBiomes()
	for word := range strings.FieldsFuncSeq(strings.ToLower(prompt), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if of, ok := means[word]; ok {
			word = of
		}
		for i, name := range names {
			if word == name {
				return i
			}
		}
	}
	return len(names)
}

// tinySteps are the camera's: a degree of yaw and half a degree of pitch a frame, within the pitch that the model was trained on.
func tinySteps() world.Steps {
	return world.Steps{
		Move: 0.10, Lateral: 0.10, Yaw: 1 * world.Degree, Pitch: 0.5 * world.Degree,
		Tilt: -0.12, PitchMin: -31 * world.Degree, PitchMax: 17 * world.Degree,
	}
}

// tinyModel is how tiny-world is run.
func tinyModel() wan.WorldConfig {
	const shift, steps = 5, 4
	return wan.WorldConfig{
		VAE: weights.TinyVAE(), DiT: weights.TinyDiT(), Width: tinyWidth, Height: tinyHeight, Chunk: chunkLatents,
		Sigmas: wan.Sigmas(shift, steps), Settle: 8, Tilt: tinySteps().Tilt, Scale: 1,
	}
}

// tinyWeights are where the numbers of tiny-world come from: a folder, or a seed.
type tinyWeights struct {
	dir    string
	random bool
	seed   uint64
}

// findTiny looks for the weights of tiny-world. It fails with ErrInvalid, in one line that names every place.
func findTiny(o Options) (tinyWeights, error) {
	seed, random, err := weights.ParseRandom(o.Weights)
	if err != nil {
		return tinyWeights{}, fmt.Errorf("%w: %s: %w", ErrInvalid, tinyName, err)
	}
	if random {
		return tinyWeights{random: true, seed: seed}, nil
	}
	var places []string
	if o.Weights != "" {
		places = []string{o.Weights}
	} else if o.ModelsDir != "" {
		places = []string{filepath.Join(o.ModelsDir, tinyName), o.ModelsDir}
	}
	for _, place := range places {
		f, err := weights.Find(place)
		if err != nil {
			continue
		}
		dit, _ := f.Place(weights.PartDiT)
		vae, _ := f.Place(weights.PartVAE)
		if dit.Path != "" && vae.Path != "" {
			return tinyWeights{dir: place}, nil
		}
	}
	if len(places) == 0 {
		return tinyWeights{}, fmt.Errorf("%w: %s has no weights: no folder of models is set, so there was nowhere to look; --models-dir names it, and in it lies %s/ with dit.safetensors and vae.safetensors",
			ErrInvalid, tinyName, tinyName)
	}
	return tinyWeights{}, fmt.Errorf("%w: %s has no weights: dit.safetensors and vae.safetensors are not in %s", ErrInvalid, tinyName, strings.Join(places, " and not in "))
}

// open reads the model.
func (w tinyWeights) open(b wan.WorldBackends) (*wan.World, error) {
	c := tinyModel()
	if w.random {
		return wan.NewWorld(b, weights.Random(w.seed, c.VAE.Blueprint()), weights.Random(w.seed, c.DiT.Blueprint()), c)
	}
	f, err := weights.Find(w.dir)
	if err != nil {
		return nil, err
	}
	ditPlace, _ := f.Place(weights.PartDiT)
	vaePlace, _ := f.Place(weights.PartVAE)
	if c.DiT, err = ditPlace.DiT(); err != nil {
		return nil, err
	}
	if c.VAE, err = vaePlace.VAE(); err != nil {
		return nil, err
	}
	dit, err := weights.Load(ditPlace.Path, c.DiT.Blueprint())
	if err != nil {
		return nil, err
	}
	defer func() { _ = dit.Close() }()
	vae, err := weights.Load(vaePlace.Path, c.VAE.Blueprint())
	if err != nil {
		return nil, err
	}
	defer func() { _ = vae.Close() }()
	return wan.NewWorld(b, vae, dit, c)
}
