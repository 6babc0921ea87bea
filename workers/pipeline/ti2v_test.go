package pipeline_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"telefuser/workers/contract"
	"telefuser/workers/models/weights"
	"telefuser/workers/pipeline"
)

// TestSmallTI2V makes videos from a text, and from a text and a picture, in turns and in two sizes.
func TestSmallTI2V(t *testing.T) {
	t.Parallel()
	p := small(t, pipeline.NewSmallTI2V, pipeline.Options{})
	fromText := func(frames int) pipeline.Request {
		req := smallRequest(frames)
		req.Task, req.Image = contract.TaskTextToVideo, nil
		return req
	}
	chunks, frames := whole(t, p, fromText(32)) // the last latent frame is cut
	if len(chunks) != 3 || len(chunks[0].Frames) != 13 || len(chunks[2].Frames) != 3 || len(frames) != 32 {
		t.Fatalf("%d chunks, %d frames", len(chunks), len(frames))
	}
	_, led := whole(t, p, smallRequest(32))
	other := smallRequest(32)
	other.Image = picture64(20, 140, 30)
	_, elsewhere := whole(t, p, other)
	for _, i := range []int{0, 31} {
		if bytes.Equal(led[i].Data, frames[i].Data) || bytes.Equal(led[i].Data, elsewhere[i].Data) {
			t.Errorf("frame %d does not tell pictures apart", i)
		}
	}
	tall := fromText(13)
	tall.Width, tall.Height = 32, 64
	if _, made := whole(t, p, tall); len(made) != 13 || made[0].Width != 32 || made[0].Height != 64 {
		t.Error("another size is not made")
	}
	if _, again := whole(t, p, smallRequest(32)); !reflect.DeepEqual(led, again) {
		t.Error("the same request gives other frames, after others")
	}
	if _, again := whole(t, p, fromText(32)); !reflect.DeepEqual(frames, again) {
		t.Error("a text alone gives other frames, after a picture")
	}
	one := smallRequest(1) // all of it is given: neither steps nor words change it
	_, still := whole(t, p, one)
	one.Prompt = "a frozen lake"
	if _, again := whole(t, p, one); len(still) != 1 || !reflect.DeepEqual(still, again) {
		t.Error("the picture's own frame hangs on the prompt")
	}
	smallRefuses(t, p, map[string]func(*pipeline.Request){
		"size": func(r *pipeline.Request) { r.Width, r.Height = 64, 64 }, "live": func(r *pipeline.Request) { r.Frames = 0 }, "length": func(r *pipeline.Request) { r.Frames = 122 },
	})
}

// ti2v is the contract of Wan 2.2 TI2V 5B.
func ti2v(t *testing.T) contract.Contract {
	t.Helper()
	all := pipeline.Contracts()
	at := slices.IndexFunc(all, func(c contract.Contract) bool { return c.Name == "wan2.2-ti2v-5b" })
	if at < 0 {
		t.Fatal("it is not in the table")
	}
	return all[at]
}

// TestTI2VContract resolves requests, and refuses what the model cannot make before any engine is asked.
func TestTI2VContract(t *testing.T) {
	t.Parallel()
	c := ti2v(t)
	ask := func(fields map[string]any, inputs ...string) (contract.Resolved, error) {
		return contract.Validate(c, contract.Input{Inputs: append([]string{"prompt"}, inputs...), Fields: fields})
	}
	if got, err := ask(nil); err != nil || got.Task != contract.TaskTextToVideo || got.Size != "1280x704" || got.FPS != 24 || got.Frames != 120 {
		t.Errorf("by default: %+v, %v", got, err)
	}
	if got, err := ask(map[string]any{"size": "704x1280", "num_frames": "121"}, "input_reference"); err != nil || got.Task != contract.TaskImageToVideo || got.Frames != 121 {
		t.Errorf("with a picture: %+v, %v", got, err)
	}
	for _, size := range []string{"256x256", "1088x800", "1280x704", "352x1216"} {
		if got, err := ask(map[string]any{"size": size}); err != nil || !c.Geometry.Takes(got.Width, got.Height) {
			t.Errorf("%s: %v", size, err)
		}
	}
	for name, x := range map[string]struct {
		fields map[string]any
		words  string
	}{
		"720 rows":       {map[string]any{"size": "1280x720"}, "too large"},
		"16 too many":    {map[string]any{"size": "848x480"}, "multiples of 32"},
		"not 4n+1":       {map[string]any{"num_frames": "120"}, "4n+1"},
		"too long":       {map[string]any{"num_frames": "125"}, "at most 121 frames"},
		"six seconds":    {map[string]any{"seconds": "6"}, "at most 121 frames"},
		"another rate":   {map[string]any{"fps": "16"}, "fps"},
		"a second scale": {map[string]any{"guidance_scale_2": "3"}, "guidance_scale_2"},
	} {
		if _, err := ask(x.fields); err == nil || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ask(nil, "video"); err == nil {
		t.Error("a video goes on")
	}
}

// A small transformer and VAEs, for folders with something missing.
const (
	toyTI2V  = `{"_class_name":"WanModel","dim":128,"ffn_dim":16,"freq_dim":16,"in_dim":48,"num_heads":1,"num_layers":1,"out_dim":48,"text_dim":16,"text_len":4}`
	toyVAE   = `{"base_dim":8,"z_dim":16,"dim_mult":[1,1],"num_res_blocks":1,"temperal_downsample":[true],"latents_mean":null}`
	toyVAE22 = `{"base_dim":8,"z_dim":48,"dim_mult":[1,1],"num_res_blocks":1,"temperal_downsample":[true],"is_residual":true,"patch_size":2,"in_channels":12,"out_channels":12}`
)

// lay writes zeros of all that a configuration wants, and the configuration.
func lay(t *testing.T, dir, config string, blueprint func(weights.Config) (weights.Blueprint, error)) {
	t.Helper()
	at := filepath.Join(dir, weights.ConfigName)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(at, []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := weights.ReadConfig(at)
	if err != nil {
		t.Fatal(err)
	}
	b, err := blueprint(c)
	if err != nil {
		t.Fatal(err)
	}
	header, end := map[string]any{}, 0
	for _, p := range b.Parameters {
		n := 2
		for _, d := range p.Shape {
			n *= d
		}
		header[p.Name] = map[string]any{"dtype": "BF16", "shape": p.Shape, "data_offsets": []int{end, end + n}}
		end += n
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), make([]byte, end)...)
	if err := os.WriteFile(filepath.Join(dir, "diffusion_pytorch_model.safetensors"), file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTI2VSaysWhatIsMissing loads from folders that lack one thing after the other: one line says so before a device is touched, for there is none here.
func TestTI2VSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	models := t.TempDir()
	dir := filepath.Join(models, "Wan2.2-TI2V-5B")
	vae := func(c weights.Config) (weights.Blueprint, error) {
		v, err := c.VAE()
		return v.Blueprint(), err
	}
	for _, x := range []struct {
		does  func()
		words []string
	}{
		{func() {}, []string{"no weights", dir, "diffusion_pytorch_model"}},
		{func() {
			lay(t, dir, toyTI2V, func(c weights.Config) (weights.Blueprint, error) {
				d, err := c.DiT()
				return d.Blueprint(), err
			})
		}, []string{"the VAE is missing", "Wan2.2_VAE.safetensors"}},
		{func() { lay(t, filepath.Join(dir, "vae"), toyVAE, vae) }, []string{"latents of 16 channels", "makes 48"}},
		{func() { lay(t, filepath.Join(dir, "vae"), toyVAE22, vae) }, []string{"the text encoder is missing"}},
	} {
		x.does()
		p, err := pipeline.NewOn("wan2.2-ti2v-5b", pipeline.Options{Devices: []int{0}, ModelsDir: models})
		if err != nil {
			t.Fatal(err)
		}
		err = p.Load(t.Context(), func(float64) {})
		for _, w := range x.words {
			if !errors.Is(err, pipeline.ErrInvalid) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), w) {
				t.Errorf("%v does not say %s", err, w)
			}
		}
	}
}
