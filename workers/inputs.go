package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"telefuser/storage"
	"telefuser/workers/contract"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

// request turns the job's record into what the pipeline is asked.
func (a *attempt) request(ctx context.Context) (pipeline.Request, error) {
	s := a.spec
	req := pipeline.Request{
		Task: s.Task, Prompt: s.Prompt, Width: s.Width, Height: s.Height, FPS: s.FPS, Frames: s.Frames, Seed: s.Seed,
		Parameters: s.Parameters,
	}
	switch s.Task {
	case contract.TaskRemix, contract.TaskEdit:
		// The world stays that of the source, and the new prompt changes its look.
		req.Prompt, req.StylePrompt = s.WorldPrompt, s.Prompt
	case contract.TaskExtend:
		// The world is in the state; what a new prompt means to it is the pipeline's matter.
		if s.Source != nil {
			req.State = s.Source.State
		}
	}
	if s.Frames < 1 {
		return req, fmt.Errorf("%w: %d frames", errSpec, s.Frames) // it would be a live session without an end
	}
	if len(s.Camera) > 0 {
		req.Camera = &pipeline.Camera{}
		if err := json.Unmarshal(s.Camera, req.Camera); err != nil {
			return req, fmt.Errorf("%w: camera: %w", errSpec, err)
		}
	}
	if s.ImageKey == "" {
		return req, nil
	}
	err := a.retryStore(ctx, "read picture", func(ctx context.Context) error {
		img, err := a.readImage(ctx, s.ImageKey)
		req.Image = img
		return err
	})
	return req, err
}

func (a *attempt) readImage(ctx context.Context, key string) (_ *media.Image, err error) {
	body, _, err := a.worker.objects.Open(ctx, key, 0, -1)
	if err != nil {
		return nil, err
	}
	defer body.Close() // it was only read
	img, err := media.DecodeImage(ctx, body, media.ImageLimits{})
	if err != nil {
		return nil, err
	}
	return &img, nil
}

// fetchSource brings the file that an extension continues; "" where there is nothing to continue. It comes before the generation, so
// that a missing one costs no GPU time.
func (a *attempt) fetchSource(ctx context.Context) (string, error) {
	if a.spec.Task != contract.TaskExtend || a.spec.Source == nil {
		return "", nil
	}
	path := a.path("source.mp4")
	err := a.retryStore(ctx, "read source", func(ctx context.Context) error {
		return download(ctx, a.worker.objects, a.spec.Source.VideoKey, path)
	})
	return path, err
}

func download(ctx context.Context, objects storage.Store, key, path string) error {
	body, object, err := objects.Open(ctx, key, 0, -1)
	if err != nil {
		return err
	}
	defer body.Close() // it was only read
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, body)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil && n != object.SizeBytes {
		err = fmt.Errorf("%w: %d bytes of %d", storage.ErrUnavailable, n, object.SizeBytes)
	}
	return err
}
