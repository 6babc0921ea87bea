package api

import (
	"context"
	"encoding/json"
	"math/rand/v2"

	"telefuser/jobs"
	"telefuser/workers/contract"
)

// draft is a checked request on its way to a job.
type draft struct {
	spec jobs.Spec
	// seedGiven is false while the seed is still to be drawn; a random one is no part of what the request says.
	seedGiven bool
	// picture is what has to be stored beside the job; imageDigest is that of the bytes as they came.
	picture     []byte
	imageDigest string
}

// draftVideo checks the fields of a create. It takes them all.
func (s *Server) draftVideo(ctx context.Context, who caller, f *fields) (draft, error) {
	if err := mergeExtras(f); err != nil {
		return draft{}, err
	}
	prompt, err := takePrompt(f)
	if err != nil {
		return draft{}, err
	}
	name, err := takeText(f, "model")
	if err != nil {
		return draft{}, err
	}
	model, err := s.models.choose(name)
	if err != nil {
		return draft{}, err
	}
	metadata, err := takeMetadata(f)
	if err != nil {
		return draft{}, err
	}
	priority, err := takePriority(f)
	if err != nil {
		return draft{}, err
	}
	ref, err := s.takeReference(ctx, who, f)
	if err != nil {
		return draft{}, err
	}
	if err := refusePaths(f); err != nil {
		return draft{}, err
	}
	if err := checkLeft(f); err != nil {
		return draft{}, err
	}
	in := inputOf(model, f.values, ref != nil)
	resolved, picture, err := s.resolve(ctx, model, in, ref)
	if err != nil {
		return draft{}, err
	}
	d, err := newDraft(model.contract.Name, model.name, prompt, resolved)
	d.spec.Metadata, d.spec.Priority, d.picture = metadata, priority, picture.PNG
	if ref != nil {
		d.imageDigest = ref.digest
	}
	return d, err
}

// inputOf is what the contract gets to see: everything that no rule of the API has taken, and OpenAI's defaults where its names are used.
func inputOf(model chosen, values map[string]any, hasImage bool) contract.Input {
	in := contract.Input{Inputs: []string{"prompt"}, Fields: values}
	if hasImage {
		in.Inputs = append(in.Inputs, "input_reference")
	}
	if !model.openAI {
		return in
	}
	if allowsSize(model.contract.Geometry, openAIWidth, openAIHeight) {
		in.DefaultWidth, in.DefaultHeight = openAIWidth, openAIHeight
	}
	if values["seconds"] == nil && values["num_frames"] == nil {
		values["seconds"] = openAISeconds
	}
	return in
}

// resolve checks the fields first and looks at the picture last, for that is what costs most. A picture decides the size where the
// pipeline is named itself and no size is.
func (s *Server) resolve(ctx context.Context, model chosen, in contract.Input, ref *reference) (contract.Resolved, Picture, error) {
	resolved, err := contract.Validate(model.contract, in)
	if err != nil || ref == nil {
		return resolved, Picture{}, err
	}
	picture, err := s.decodePicture(ctx, ref)
	if err != nil {
		return contract.Resolved{}, Picture{}, err
	}
	if !model.openAI && !sizeGiven(in.Fields) && allowsSize(model.contract.Geometry, picture.Width, picture.Height) {
		in.DefaultWidth, in.DefaultHeight = picture.Width, picture.Height
		if resolved, err = contract.Validate(model.contract, in); err != nil {
			return contract.Resolved{}, Picture{}, err
		}
	}
	if picture.Width != resolved.Width || picture.Height != resolved.Height {
		return contract.Resolved{}, Picture{}, badRequest(ref.name(), codeInvalidImage, "Inpaint image must match the requested width and height. The picture is "+
			sizeText(picture.Width, picture.Height)+", the video "+resolved.Size+".")
	}
	return resolved, picture, nil
}

func sizeGiven(values map[string]any) bool {
	for _, name := range []string{"size", "width", "height", "aspect_ratio"} {
		if value, given := values[name]; given && value != nil && value != "null" {
			return true
		}
	}
	return false
}

func allowsSize(g contract.Geometry, width, height int) bool {
	return width >= g.WidthMin && height >= g.HeightMin && width <= g.SideMax && height <= g.SideMax && width*height <= g.PixelsMax &&
		width%max(1, g.SideMultiple) == 0 && height%max(1, g.SideMultiple) == 0
}

// newDraft puts what the contract resolved into a spec.
func newDraft(pipeline, model, prompt string, r contract.Resolved) (draft, error) {
	d := draft{seedGiven: r.Seed != nil, spec: jobs.Spec{
		Pipeline: pipeline, Model: model, Task: r.Task, Prompt: prompt, Width: r.Width, Height: r.Height, FPS: r.FPS, Frames: r.Frames,
		Seconds: r.Seconds, Parameters: r.Parameters,
	}}
	if r.Seed != nil {
		d.spec.Seed = *r.Seed
	}
	if r.Camera != nil {
		camera, err := json.Marshal(r.Camera)
		if err != nil {
			return draft{}, err
		}
		d.spec.Camera = camera
	}
	return d, nil
}

// drawSeed picks a seed where the request has none. It stays below 2^32, so that every language reads it exactly.
func (d *draft) drawSeed() {
	if !d.seedGiven {
		d.spec.Seed = rand.Int64N(1 << 32)
	}
}
