package pipeline_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"telefuser/workers/contract"
	"telefuser/workers/media"
	"telefuser/workers/models/weights"
	"telefuser/workers/pipeline"
)

// TestSmallSight makes a video from a picture that the transformer sees besides. Pictures that are the same at the video's size are not the same to it.
func TestSmallSight(t *testing.T) {
	t.Parallel()
	p := small(t, pipeline.NewSmallSight, pipeline.Options{})
	chunks, frames := whole(t, p, smallRequest(17))
	if len(chunks) != 2 || len(frames) != 17 {
		t.Fatalf("%d chunks, %d frames", len(chunks), len(frames))
	}
	if _, again := whole(t, p, smallRequest(17)); !bytes.Equal(frames[16].Data, again[16].Data) {
		t.Error("the same request gives other frames")
	}
	fine := media.Image{Width: 256, Height: 128} // lines of one pixel, which are grey at the video's size
	for i := range 256 * 128 {
		fine.RGB = append(fine.RGB, bytes.Repeat([]byte{byte(i % 2 * 255)}, 3)...)
	}
	plain := media.Resize(fine, 64, 32)
	pictured := func(img media.Image) []media.Frame {
		req := smallRequest(17)
		req.Image = &img
		_, frames := whole(t, p, req)
		return frames
	}
	if a, b := pictured(fine), pictured(plain); bytes.Equal(a[16].Data, b[16].Data) {
		t.Error("what a picture looks like changes nothing")
	}
	smallRefuses(t, p, map[string]func(*pipeline.Request){
		"no picture": func(r *pipeline.Request) { r.Image = nil }, "live": func(r *pipeline.Request) { r.Frames = 0 },
	})
}

// TestTheContractOfWanI2V takes one task, which needs a picture, in the sizes of Wan 2.1.
func TestTheContractOfWanI2V(t *testing.T) {
	t.Parallel()
	all := pipeline.Contracts()
	i := slices.IndexFunc(all, func(c contract.Contract) bool { return c.Name == "wan2.1-i2v-14b" })
	if i < 0 {
		t.Fatal("there is none")
	}
	c := all[i]
	if len(c.Tasks) != 1 || c.Tasks[0].Name != contract.TaskImageToVideo || !slices.Contains(c.Tasks[0].RequiredInputs, "input_reference") || !c.BatchOnly || c.Device.GPUs != 1 {
		t.Errorf("%+v", c)
	}
	if _, err := contract.Validate(c, contract.Input{Inputs: []string{"prompt"}, Fields: map[string]any{}}); err == nil {
		t.Error("a request without a picture is taken")
	}
	for _, size := range []string{"832x480", "480x832", "1280x720", "720x1280"} {
		r, err := contract.Validate(c, contract.Input{Inputs: []string{"prompt", "input_reference"}, Fields: map[string]any{"size": size}})
		if err != nil || r.Task != contract.TaskImageToVideo || r.Frames != 80 || r.FPS != 16 {
			t.Errorf("%s: %+v, %v", size, r, err)
		}
	}
}

const (
	sightDiT  = `{"_class_name":"WanModel","model_type":"i2v","dim":128,"ffn_dim":16,"freq_dim":16,"in_dim":36,"num_heads":1,"num_layers":1,"out_dim":16,"text_dim":16,"text_len":4}`
	sightVAE  = `{"base_dim":8,"z_dim":16,"dim_mult":[1,1,1,1],"num_res_blocks":1}`
	sightCLIP = `{"hidden_size":32,"num_attention_heads":2,"intermediate_size":16,"num_hidden_layers":2,"image_size":8,"patch_size":4}`
)

// TestWanI2VSaysWhatIsWrong lays models down that are not of its kind, or lack its image encoder: one line says so, before any device is touched.
func TestWanI2VSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const original = "models_clip_open-clip-xlm-roberta-large-vit-huge-14"
	dit := func(image int, in string) func(dir string) {
		return func(dir string) {
			lay(t, dir, strings.Replace(sightDiT, `"in_dim":36`, in, 1), func(c weights.Config) (weights.Blueprint, error) {
				d, err := c.DiT()
				d.Image = image
				return d.Blueprint(), err
			})
		}
	}
	encoder := func(dir string) {
		lay(t, filepath.Join(dir, "image_encoder"), sightCLIP, func(c weights.Config) (weights.Blueprint, error) {
			v, err := c.CLIP()
			return v.Blueprint(), err
		})
	}
	for name, c := range map[string]struct {
		words string
		lay   []func(dir string)
	}{
		"text to video":     {"16 channels in and 16 out, and 36 and 16 are wanted", []func(string){dit(0, `"in_dim":16`)}},
		"one that is blind": {"reads a picture's features: false; wanted: true", []func(string){dit(0, `"in_dim":36`)}},
		"no encoder":        {"the image encoder is missing: there is none of image_encoder, " + original, []func(string){dit(16, `"in_dim":36`)}},
		"pickled": {"a pickle is never read: " + original + ".pth", []func(string){dit(16, `"in_dim":36`), func(dir string) {
			if err := os.WriteFile(filepath.Join(dir, original+".pth"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}}},
		"another encoder": {"gives features of 32 numbers, and the transformer reads 16", []func(string){dit(16, `"in_dim":36`), encoder}},
		"broken encoder": {"is no CLIP image encoder", []func(string){dit(32, `"in_dim":36`), encoder, func(dir string) {
			text := strings.Replace(sightCLIP, `"num_hidden_layers":2`, `"num_hidden_layers":3`, 1)
			if err := os.WriteFile(filepath.Join(dir, "image_encoder", weights.ConfigName), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}}},
		"no text encoder": {"the text encoder is missing", []func(string){dit(32, `"in_dim":36`), encoder}},
	} {
		dir := filepath.Join(t.TempDir(), "Wan2.1-I2V-14B-480P")
		for _, put := range c.lay {
			put(dir)
		}
		lay(t, filepath.Join(dir, "vae"), sightVAE, func(c weights.Config) (weights.Blueprint, error) {
			v, err := c.VAE()
			return v.Blueprint(), err
		})
		p, err := pipeline.NewOn("wan2.1-i2v-14b", pipeline.Options{Devices: []int{0}, ModelsDir: filepath.Dir(dir)})
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(p.Load(t.Context(), func(float64) {}), p.Close())
		if !errors.Is(err, pipeline.ErrInvalid) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
