package weights

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is a model on disk: one of the trees in which Wan, LingBot-World and diffusers'
// conversions are published, or tiny-world's.
type Folder struct {
	Dir    string
	Places []Place
}

// The files of a model in its original layout, and the folders of a converted one.
const (
	tinyDiT, tinyVAE         = "dit.safetensors", "vae.safetensors"
	originalVAE, laterVAE    = "Wan2.1_VAE", "Wan2.2_VAE"
	originalText             = "models_t5_umt5-xxl-enc-bf16"
	originalHigh, originalLo = "high_noise_model", "low_noise_model"
	originalTokenizer        = "google/umt5-xxl"
	originalImage            = "models_clip_open-clip-xlm-roberta-large-vit-huge-14"
	convertedImage           = "image_encoder"
	lingbotDiT               = "transformers"
	diffusersIndex           = "model_index.json"
)

// Find says where the parts of the model in a folder lie. A part that the model needs and
// that is not there has a place without a path.
func Find(dir string) (Folder, error) {
	if info, err := os.Stat(dir); err != nil {
		return Folder{}, fmt.Errorf("weights: %w", err)
	} else if !info.IsDir() {
		return Folder{}, fmt.Errorf("%w: %s is no folder", ErrAbsent, dir)
	}
	f := Folder{Dir: dir}
	switch {
	case f.has(tinyDiT) || f.has(tinyVAE):
		f.tiny()
		return f, nil
	case f.has(diffusersIndex) || f.has("transformer"):
		if err := f.converted(); err != nil {
			return Folder{}, err
		}
	case f.has(originalHigh) || f.has(originalLo):
		f.add(PartHighNoise, originalHigh)
		f.add(PartLowNoise, originalLo)
	case f.has(lingbotDiT):
		f.add(PartDiT, lingbotDiT)
	default:
		f.root()
	}
	f.add(PartVAE, "vae", originalVAE+fileSuffix, laterVAE+fileSuffix, originalVAE+".pth", laterVAE+".pth")
	f.add(PartText, "text_encoder", originalText+fileSuffix, originalText+".pth")
	f.add(PartTokenizer, "tokenizer", originalTokenizer)
	if sought := []string{convertedImage, originalImage + fileSuffix, originalImage + ".pth"}; f.sees() || slices.ContainsFunc(sought, f.has) {
		f.add(PartImage, sought...)
	}
	return f, nil
}

// sees says that the folder's first transformer reads a picture's features. One that cannot be read does not: what is wrong with it is said elsewhere.
func (f *Folder) sees() bool {
	p := f.Places[0]
	if p.Path == "" {
		return false
	}
	d, err := p.DiT()
	if err != nil {
		return false
	}
	c, err := Open(p.Path)
	if err != nil {
		return false
	}
	d = d.Observe(c)
	return c.Close() == nil && d.Image > 0
}

// Place is where a part lies; false if the model has no such part.
func (f Folder) Place(p Part) (Place, bool) {
	i := slices.IndexFunc(f.Places, func(x Place) bool { return x.Part == p })
	if i < 0 {
		return Place{}, false
	}
	return f.Places[i], true
}

// tiny finds tiny-world's two files; its texts are a table of the transformer.
func (f *Folder) tiny() {
	f.add(PartDiT, tinyDiT)
	f.add(PartVAE, tinyVAE)
	keys := []string{"dit", "vae"}
	for i := range f.Places {
		p := &f.Places[i]
		p.tiny, p.key, p.Config = true, keys[i], ""
		if f.has(ConfigName) {
			p.Config = filepath.Join(f.Dir, ConfigName)
		}
	}
}

// converted finds the transformers of diffusers' tree; its index says whether there are two.
func (f *Folder) converted() error {
	second := f.has("transformer_2")
	if f.has(diffusersIndex) {
		c, err := ReadConfig(filepath.Join(f.Dir, diffusersIndex))
		if err != nil {
			return err
		}
		var library []*string
		if json.Unmarshal(c.fields["transformer_2"], &library) == nil && len(library) > 0 && library[0] != nil {
			second = true
		}
	}
	if second {
		f.add(PartHighNoise, "transformer")
		f.add(PartLowNoise, "transformer_2")
		return nil
	}
	f.add(PartDiT, "transformer")
	return nil
}

// root finds a transformer among the other files of the folder.
func (f *Folder) root() {
	p := Place{Part: PartDiT, Sought: []string{"transformer", lingbotDiT, originalHigh, tinyDiT, mainFiles[1] + "*" + fileSuffix, mainFiles[0] + "*" + fileSuffix}}
	l, err := listWeights(f.Dir)
	for _, stem := range mainFiles {
		if err == nil && (l.indices[stem] || l.whole[stem] || l.shards[stem] != nil) {
			p.Path, p.Config = f.Dir, filepath.Join(f.Dir, ConfigName)
		}
	}
	f.Places = append(f.Places, p)
}

// add looks for a part in some places, best first. A folder has its own configuration.
func (f *Folder) add(part Part, sought ...string) {
	p := Place{Part: part, Sought: sought}
	for _, s := range sought {
		if !f.has(s) {
			continue
		}
		p.Path = filepath.Join(f.Dir, s)
		if !strings.HasPrefix(filepath.Ext(s), ".safetensors") && !isPickle(s) && part != PartTokenizer {
			p.Config = filepath.Join(p.Path, ConfigName)
		}
		break
	}
	f.Places = append(f.Places, p)
}

func (f *Folder) has(name string) bool {
	_, err := os.Stat(filepath.Join(f.Dir, name))
	return err == nil
}
