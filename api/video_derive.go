package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/workers/contract"
)

// remixVideo answers POST /v1/videos/{video_id}/remix.
func (s *Server) remixVideo(c echo.Context) error {
	id := c.Param("video_id")
	if reservedID(id) {
		return echo.ErrNotFound
	}
	return s.create(c, bodyRule{}, func(ctx context.Context, who caller, f *fields) (draft, error) {
		return s.draftDerived(ctx, who, f, contract.TaskRemix, id)
	})
}

// editVideo answers POST /v1/videos/edits.
func (s *Server) editVideo(c echo.Context) error {
	return s.create(c, bodyRule{files: []string{"video"}}, func(ctx context.Context, who caller, f *fields) (draft, error) {
		return s.draftDerived(ctx, who, f, contract.TaskEdit, "")
	})
}

// extendVideo answers POST /v1/videos/extensions.
func (s *Server) extendVideo(c echo.Context) error {
	return s.create(c, bodyRule{files: []string{"video"}}, func(ctx context.Context, who caller, f *fields) (draft, error) {
		return s.draftDerived(ctx, who, f, contract.TaskExtend, "")
	})
}

// draftDerived checks a request for a video that is made from another; sourceID is "" where the body names it.
func (s *Server) draftDerived(ctx context.Context, who caller, f *fields, task, sourceID string) (draft, error) {
	if err := mergeExtras(f); err != nil {
		return draft{}, err
	}
	prompt, err := takePrompt(f)
	if err != nil {
		return draft{}, err
	}
	param := "video_id"
	if sourceID == "" {
		param = "video"
		if sourceID, err = takeVideoID(f); err != nil {
			return draft{}, err
		}
	}
	metadata, err := takeMetadata(f)
	if err != nil {
		return draft{}, err
	}
	priority, err := takePriority(f)
	if err != nil {
		return draft{}, err
	}
	if err := errors.Join(refusePaths(f), checkLeft(f)); err != nil {
		return draft{}, err
	}
	source, err := s.completedSource(ctx, who, sourceID, param)
	if err != nil {
		return draft{}, err
	}
	d, err := s.resolveDerived(f, task, prompt, source)
	if err != nil {
		return draft{}, err
	}
	d.spec.Metadata, d.spec.Priority = metadata, priority
	err = s.copyPicture(ctx, &d, source, param)
	return d, err
}

// takeVideoID takes the field video: an object with an id, or the id itself.
func takeVideoID(f *fields) (string, error) {
	value, given := f.take("video")
	if !given {
		return "", badRequest("video", codeMissingParameter, "Missing required parameter: \"video\".")
	}
	if object, isObject := value.(map[string]any); isObject {
		if len(object) != 1 || object["id"] == nil {
			return "", badRequest("video", codeInvalidValue, "video must be an object with an id and nothing else.")
		}
		value = object["id"]
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case *upload:
		return "", badRequest("video", codeUnsupported, "video must be the id of an own completed video; this pipeline does not take a file.")
	}
	return "", badRequest("video", codeInvalidType, "Invalid type for 'video': expected an object with an id, but got "+kind(value)+" instead.")
}

// completedSource finds the caller's own finished video, of a pipeline that is here; param is the field that names it.
func (s *Server) completedSource(ctx context.Context, who caller, id, param string) (jobs.Job, error) {
	if !jobs.ValidID(id) {
		return jobs.Job{}, notFound(param, "video")
	}
	source, err := s.deps.Jobs.Get(ctx, who.tenant, id)
	if errors.Is(err, jobs.ErrNotFound) {
		return jobs.Job{}, notFound(param, "video")
	}
	if err != nil {
		return jobs.Job{}, err
	}
	if source.State != jobs.StateCompleted || source.Result == nil {
		p := badRequest(param, codeVideoNotCompleted, "The source video must be completed; it is "+string(source.State)+".")
		p.noRetry = true
		return jobs.Job{}, p
	}
	if _, there := s.models.pipelines[source.Spec.Pipeline]; !there {
		return jobs.Job{}, badRequest(param, codeModelNotFound, "The pipeline that made the source video is not here any more.")
	}
	return source, nil
}

// resolveDerived makes the spec: the source's geometry, world, seed and parameters, with what the request changes.
func (s *Server) resolveDerived(f *fields, task, prompt string, source jobs.Job) (draft, error) {
	c := s.models.pipelines[source.Spec.Pipeline]
	values, err := derivedFields(c, f.values, task, source)
	if err != nil {
		return draft{}, err
	}
	resolved, err := contract.Validate(c, contract.Input{Task: task, Inputs: []string{"prompt", "video"}, Fields: values,
		DefaultWidth: source.Spec.Width, DefaultHeight: source.Spec.Height})
	if err != nil {
		return draft{}, err
	}
	d, err := newDraft(c.Name, source.Spec.Model, prompt, resolved)
	if err != nil {
		return draft{}, err
	}
	spec, from := &d.spec, source.Spec
	spec.Width, spec.Height, spec.FPS = from.Width, from.Height, from.FPS
	spec.WorldPrompt = from.WorldPrompt
	if spec.WorldPrompt == "" {
		spec.WorldPrompt = from.Prompt
	}
	if !d.seedGiven {
		spec.Seed, d.seedGiven = from.Seed, true
	}
	if spec.Camera == nil && task != contract.TaskExtend {
		spec.Camera = from.Camera
	}
	spec.Source = &jobs.Source{ID: source.ID, VideoKey: source.Result.VideoKey, State: source.Result.State, Frames: totalFrames(source), Weights: source.Result.Facts.Weights}
	if task == contract.TaskExtend {
		err = extend(spec, source)
		return d, err
	}
	spec.Frames, spec.Seconds = totalFrames(source), source.Result.Seconds
	if spec.Seconds == "" {
		spec.Seconds = contract.SecondsText(spec.Frames, spec.FPS)
	}
	return d, nil
}

// derivedFields lets a request change the pipeline's parameters and the camera, and the length of an extension; the geometry is the
// source's.
func derivedFields(c contract.Contract, given map[string]any, task string, source jobs.Job) (map[string]any, error) {
	values := maps.Clone(source.Spec.Parameters)
	if values == nil {
		values = map[string]any{}
	}
	for _, name := range sortedNames(given) {
		field, known := c.Field(name)
		own := known && (isParameter(c, field.Name) || field.Name == "camera" || field.Name == "seconds" && task == contract.TaskExtend)
		if !own {
			return nil, badRequest(shown(name), codeUnknownParameter, "Unknown parameter: "+quoteName(shown(name))+". Size, rate and length are those of the source video.")
		}
		delete(values, field.Name)
		values[name] = given[name]
	}
	if task == contract.TaskExtend {
		if given["seconds"] == nil {
			return nil, badRequest("seconds", codeMissingParameter, "Missing required parameter: \"seconds\".")
		}
		values["fps"] = source.Spec.FPS
	}
	return values, nil
}

func isParameter(c contract.Contract, name string) bool {
	for _, p := range c.Parameters {
		if p.Name == name {
			return true
		}
	}
	return false
}

// extend holds a chain of extensions to its limits and sums up its length.
func extend(spec *jobs.Spec, source jobs.Job) error {
	if from := source.Spec.Source; source.Spec.Task == contract.TaskExtend && from != nil {
		spec.Source.Extensions = from.Extensions + 1
	}
	if spec.Source.Extensions >= extensionsMax {
		return badRequest("video", codeInvalidValue, fmt.Sprintf("A video can be extended at most %d times.", extensionsMax))
	}
	total := spec.Source.Frames + spec.Frames
	if total > extendedSecondsMax*spec.FPS {
		return badRequest("seconds", codeInvalidValue, fmt.Sprintf("The extended video would be longer than %d s.", extendedSecondsMax))
	}
	spec.Seconds = contract.SecondsText(total, spec.FPS)
	return nil
}

// copyPicture takes the source's reference picture along, for the source may be deleted while this job waits. param is the field that names the source.
func (s *Server) copyPicture(ctx context.Context, d *draft, source jobs.Job, param string) error {
	if source.Spec.ImageKey == "" {
		return nil
	}
	body, object, err := s.deps.Store.Open(ctx, source.Spec.ImageKey, 0, -1)
	if errors.Is(err, storage.ErrNotFound) {
		return badRequest(param, jobs.CodeSourceMissing, "The reference picture of the source video is not there any more.")
	}
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	d.imageDigest = object.SHA256
	d.picture, err = io.ReadAll(io.LimitReader(body, jsonBytesMax))
	return err
}
