package weights

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Part is one of the networks of a model, or its tokenizer.
type Part string

// The parts. Wan 2.2 has two transformers, one for much noise and one for little.
const (
	PartDiT       Part = "transformer"
	PartHighNoise Part = "transformer for high noise"
	PartLowNoise  Part = "transformer for low noise"
	PartVAE       Part = "VAE"
	PartText      Part = "text encoder"
	PartTokenizer Part = "tokenizer"
)

// Place is where a part of a model lies.
type Place struct {
	Part Part
	// Path is a file or a folder; "" if there is none.
	Path string
	// Sought are the places, from the model's folder on, where the part may lie.
	Sought []string
	// Config is the file with its shape; "" if the shape is known without.
	Config string
	// key is the field of Config that holds the shape; "" for the whole.
	key  string
	tiny bool
}

// Folder is a model on disk: one of the trees in which Wan, LingBot-World and diffusers'
// conversions are published, or tiny-world's.
type Folder struct {
	Dir    string
	Places []Place
}

// The files of a model in its original layout, and the folders of a converted one.
const (
	tinyDiT, tinyVAE         = "dit.safetensors", "vae.safetensors"
	originalVAE              = "Wan2.1_VAE"
	originalText             = "models_t5_umt5-xxl-enc-bf16"
	originalHigh, originalLo = "high_noise_model", "low_noise_model"
	originalTokenizer        = "google/umt5-xxl"
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
	f.add(PartVAE, "vae", originalVAE+fileSuffix, originalVAE+".pth")
	f.add(PartText, "text_encoder", originalText+fileSuffix, originalText+".pth")
	f.add(PartTokenizer, "tokenizer", originalTokenizer)
	return f, nil
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

// DiT is the shape of a transformer, before its tensors were looked at.
func (p Place) DiT() (DiTConfig, error) {
	if p.Config == "" && p.tiny {
		return TinyDiT(), nil
	}
	c, err := p.config()
	if err != nil {
		return DiTConfig{}, err
	}
	return c.DiT()
}

// VAE is the shape of a VAE. The original file has none beside it: it is Wan 2.1's.
func (p Place) VAE() (VAEConfig, error) {
	switch {
	case p.Config == "" && p.tiny:
		return TinyVAE(), nil
	case p.Config == "":
		return Wan21VAE(), nil
	}
	c, err := p.config()
	if err != nil {
		return VAEConfig{}, err
	}
	return c.VAE()
}

// Text is the shape of a text encoder. The original file has none beside it: it is UMT5-XXL's.
func (p Place) Text() (UMT5Config, error) {
	if p.Config == "" {
		return UMT5XXL(), nil
	}
	c, err := p.config()
	if err != nil {
		return UMT5Config{}, err
	}
	return c.UMT5()
}

// config reads the part of the file that describes the place.
func (p Place) config() (Config, error) {
	if p.Config == "" {
		return Config{}, configError(p.Path, "there is no %s beside it", ConfigName)
	}
	c, err := ReadConfig(p.Config)
	if err != nil || p.key == "" {
		return c, err
	}
	if !c.has(p.key) {
		return Config{}, configError(p.Config, "it has no %q", p.key)
	}
	return parseConfig(p.Config+" "+p.key, c.fields[p.key])
}

// Blueprint is what the part wants of a checkpoint.
func (p Place) Blueprint(c *Checkpoint) (Blueprint, error) {
	switch p.Part {
	case PartVAE:
		v, err := p.VAE()
		if err != nil {
			return Blueprint{}, err
		}
		return v.Blueprint(), nil
	case PartText:
		u, err := p.Text()
		if err != nil {
			return Blueprint{}, err
		}
		return u.Blueprint(), nil
	case PartTokenizer:
		return Blueprint{}, fmt.Errorf("%w: a tokenizer has none", ErrUnknown)
	default:
		d, err := p.DiT()
		if err != nil {
			return Blueprint{}, err
		}
		return d.Observe(c).Blueprint(), nil
	}
}
