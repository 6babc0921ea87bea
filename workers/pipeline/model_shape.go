package pipeline

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"telefuser/workers/models/umt5"
	"telefuser/workers/models/weights"
)

// modelShape says where a model's weights lie and, for weights from a seed, of what shape they are.
type modelShape struct {
	name string
	// folders are where it may lie in the folder of models, best first; others are those of models whose VAE, text encoder and tokenizer it shares.
	folders, others []string
	// transformers are the one, or the two of a model that has another one for little noise.
	transformers []weights.Part
	// dit, vae, text and image are the true shapes; text is nil where the transformer has a table of texts, image where it reads no picture's features.
	dit   weights.DiTConfig
	vae   weights.VAEConfig
	text  *weights.UMT5Config
	image *weights.CLIPConfig
}

// modelWeights are a model's tensors, none of them read yet, but all of them known to be there and of the right shapes.
type modelWeights struct {
	origin string
	dits   []*weights.Set
	dit    weights.DiTConfig
	vae    *weights.Set
	shape  weights.VAEConfig
	text   *weights.Set
	umt5   weights.UMT5Config
	pieces umt5.Splitter
	image  *weights.Set
	clip   weights.CLIPConfig
}

// done gives the files back that a model has read for good: all but the text encoder's, whose table of pieces stays where it is.
func (w *modelWeights) done() error {
	var all error
	for _, s := range append([]*weights.Set{w.vae, w.image}, w.dits...) {
		if s != nil {
			all = errors.Join(all, s.Close())
		}
	}
	w.vae, w.image, w.dits = nil, nil, nil
	return all
}

// close gives all files back.
func (w *modelWeights) close() error {
	all := w.done()
	if w.text != nil {
		all = errors.Join(all, w.text.Close())
		w.text = nil
	}
	return all
}

// open finds a model's weights and holds every file to its shape. It fails with ErrInvalid, in one line.
func (m modelShape) open(o Options) (*modelWeights, error) {
	seed, random, err := weights.ParseRandom(o.Weights)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, m.name, err)
	}
	if random {
		return m.random(seed, o.Weights), nil
	}
	w, err := m.read(o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %s: %w", ErrInvalid, m.name, err), w.close())
	}
	return w, nil
}

// random are true shapes whose values mean nothing. Words become pieces by their hash, for there is no vocabulary.
func (m modelShape) random(seed uint64, origin string) *modelWeights {
	w := &modelWeights{origin: origin, dit: m.dit, shape: m.vae, vae: weights.Random(seed, m.vae.Blueprint())}
	for i := range m.transformers {
		w.dits = append(w.dits, weights.Random(seed+uint64(i), m.dit.Blueprint()))
	}
	if m.text != nil {
		w.umt5, w.text, w.pieces = *m.text, weights.Random(seed, m.text.Blueprint()), umt5.Hashes{Pieces: m.text.Vocabulary}
	}
	if m.image != nil {
		w.clip, w.image = *m.image, weights.Random(seed, m.image.Blueprint())
	}
	return w
}

// read opens the files. What it answers beside an error still has to be closed.
func (m modelShape) read(o Options) (*modelWeights, error) {
	w := &modelWeights{}
	at, err := m.find(o)
	if err != nil {
		return w, err
	}
	w.origin = at[0].Dir
	for i, part := range m.transformers {
		set, dit, err := readDiT(at[0], part)
		if err != nil {
			return w, err
		}
		w.dits = append(w.dits, set)
		if i > 0 && dit != w.dit {
			return w, fmt.Errorf("the %s is of another shape than the %s", part, m.transformers[0])
		}
		w.dit = dit
	}
	if err := m.takes(w.dit); err != nil {
		return w, err
	}
	place, err := placeOf(at, weights.PartVAE)
	if err != nil {
		return w, err
	}
	if w.shape, err = place.VAE(); err != nil {
		return w, err
	}
	if w.shape.Z != w.dit.Out {
		return w, fmt.Errorf("%s has latents of %d channels, and the %s makes %d", place.Path, w.shape.Z, m.transformers[0], w.dit.Out)
	}
	if w.vae, err = weights.Load(place.Path, w.shape.Blueprint()); err != nil {
		return w, err
	}
	if m.image != nil {
		if err := w.readImage(at); err != nil {
			return w, err
		}
	}
	if m.text == nil {
		return w, nil
	}
	return w, w.readText(at)
}

// readText opens the text encoder and the tokenizer.
func (w *modelWeights) readText(at []weights.Folder) error {
	place, err := placeOf(at, weights.PartText)
	if err != nil {
		return err
	}
	if w.umt5, err = place.Text(); err != nil {
		return err
	}
	if w.text, err = weights.Load(place.Path, w.umt5.Blueprint()); err != nil {
		return err
	}
	if place, err = placeOf(at, weights.PartTokenizer); err != nil {
		return err
	}
	tokenizer, err := umt5.OpenTokenizer(place.Path)
	w.pieces = tokenizer
	return err
}

// readDiT opens a transformer.
func readDiT(f weights.Folder, part weights.Part) (*weights.Set, weights.DiTConfig, error) {
	place, err := placeOf([]weights.Folder{f}, part)
	if err != nil {
		return nil, weights.DiTConfig{}, err
	}
	c, err := place.DiT()
	if err != nil {
		return nil, c, err
	}
	checkpoint, err := weights.Open(place.Path)
	if err != nil {
		return nil, c, err
	}
	c = c.Observe(checkpoint)
	set, err := checkpoint.Fit(c.Blueprint())
	if err != nil {
		return nil, c, errors.Join(err, checkpoint.Close())
	}
	return set, c, nil
}

// placeOf is the first place of a part that is there.
func placeOf(at []weights.Folder, part weights.Part) (weights.Place, error) {
	var sought, dirs []string
	for _, f := range at {
		place, known := f.Place(part)
		if known && place.Path != "" {
			return place, nil
		}
		sought, dirs = place.Sought, append(dirs, f.Dir)
	}
	return weights.Place{}, fmt.Errorf("the %s is missing: there is none of %s in %s", part, strings.Join(sought, ", "), strings.Join(dirs, ", nor in "))
}

// find looks for the model's folder, and for those of other models that may lie beside it.
func (m modelShape) find(o Options) ([]weights.Folder, error) {
	var places []string
	switch {
	case o.Weights != "":
		places = []string{o.Weights}
	case o.ModelsDir == "":
		return nil, fmt.Errorf("it has no weights: no folder of models is set, so there was nowhere to look; --models-dir names it, and in it lies %s/ with %s",
			m.folders[0], m.wanted())
	default:
		for _, folder := range m.folders {
			places = append(places, filepath.Join(o.ModelsDir, folder))
		}
		places = append(places, o.ModelsDir)
	}
	for _, dir := range places {
		f, err := weights.Find(dir)
		if err != nil || !m.lies(f) {
			continue
		}
		at := []weights.Folder{f}
		for _, other := range m.others {
			if f, err := weights.Find(filepath.Join(o.ModelsDir, other)); o.ModelsDir != "" && err == nil {
				at = append(at, f)
			}
		}
		return at, nil
	}
	return nil, fmt.Errorf("it has no weights: there is no %s in %s", m.wanted(), strings.Join(places, " and not in "))
}

// lies says whether a folder holds the model's transformers.
func (m modelShape) lies(f weights.Folder) bool {
	for _, part := range m.transformers {
		if place, _ := f.Place(part); place.Path == "" {
			return false
		}
	}
	return true
}

// wanted are the files that make a folder the model's.
func (m modelShape) wanted() string {
	switch {
	case m.text == nil:
		return "dit.safetensors and vae.safetensors"
	case len(m.transformers) > 1:
		return "high_noise_model and low_noise_model, or transformer and transformer_2"
	}
	return "config.json and diffusion_pytorch_model*.safetensors, or a folder transformer or transformers that holds them"
}
