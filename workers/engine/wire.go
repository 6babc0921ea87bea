package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"telefuser/workers/engine/enginepb"
	"telefuser/workers/media"
	"telefuser/workers/pipeline"
)

const (
	// classTrailer carries the class of an error.
	classTrailer = "telefuser-error-class"
	// messageBytesMax holds a frame or a picture of 1920x1088 and the text around it.
	messageBytesMax = 16 << 20
	// windowBytes is gRPC's flow control window: some frames, so that the socket stays busy while a frame is taken apart.
	windowBytes = 4 << 20
)

// wireError turns a pipeline's error into a status, and gives its class for the trailer.
func wireError(err error) (Class, error) {
	class := classOf(err)
	var code codes.Code
	switch class {
	case ClassInvalid:
		code = codes.InvalidArgument
	case ClassOutOfMemory, ClassBusy:
		code = codes.ResourceExhausted
	case ClassDeviceLost:
		code = codes.FailedPrecondition
	default:
		code = codes.Internal
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		code = codes.Canceled
	}
	return class, status.Error(code, err.Error())
}

// classFrom reads the class that came with an error; "" where the engine named none.
func classFrom(trailer metadata.MD) Class {
	for _, value := range trailer.Get(classTrailer) {
		if _, known := sentinels[Class(value)]; known {
			return Class(value)
		}
	}
	return ""
}

// failUnary answers a unary call with err and its class.
func failUnary(ctx context.Context, err error) error {
	class, answer := wireError(err)
	// The trailer can only fail outside of a handler.
	_ = grpc.SetTrailer(ctx, metadata.Pairs(classTrailer, string(class)))
	return answer
}

// failStream ends a stream with err and its class.
func failStream(stream grpc.ServerStream, err error) error {
	class, answer := wireError(err)
	stream.SetTrailer(metadata.Pairs(classTrailer, string(class)))
	return answer
}

func requestToWire(req pipeline.Request) (*enginepb.Request, error) {
	out := &enginepb.Request{
		Task: req.Task, Prompt: req.Prompt, StylePrompt: req.StylePrompt,
		Width: int32(req.Width), Height: int32(req.Height), Fps: int32(req.FPS), Frames: int32(req.Frames),
		Seed: req.Seed, State: req.State,
	}
	if req.Image != nil {
		out.Image = &enginepb.Image{Width: int32(req.Image.Width), Height: int32(req.Image.Height), Rgb: req.Image.RGB}
	}
	if req.Camera != nil {
		out.Camera = &enginepb.Camera{}
		for _, c := range req.Camera.Controls {
			out.Camera.Controls = append(out.Camera.Controls, &enginepb.TimedControl{AtS: c.AtS, Keys: c.Keys})
		}
		for _, p := range req.Camera.Poses {
			out.Camera.Poses = append(out.Camera.Poses, poseToWire(p))
		}
	}
	if len(req.Parameters) > 0 {
		raw, err := json.Marshal(req.Parameters)
		if err != nil {
			return nil, fmt.Errorf("engine: parameters: %w: %w", ErrInvalid, err)
		}
		out.ParametersJson = raw
	}
	return out, nil
}

func requestFromWire(in *enginepb.Request) (pipeline.Request, error) {
	req := pipeline.Request{
		Task: in.GetTask(), Prompt: in.GetPrompt(), StylePrompt: in.GetStylePrompt(),
		Width: int(in.GetWidth()), Height: int(in.GetHeight()), FPS: int(in.GetFps()), Frames: int(in.GetFrames()),
		Seed: in.GetSeed(), State: in.GetState(),
	}
	if img := in.GetImage(); img != nil {
		req.Image = &media.Image{Width: int(img.GetWidth()), Height: int(img.GetHeight()), RGB: img.GetRgb()}
		if len(req.Image.RGB) != req.Image.Width*req.Image.Height*3 {
			return req, fmt.Errorf("%w: image of %dx%d has %d bytes", ErrInvalid, req.Image.Width, req.Image.Height, len(req.Image.RGB))
		}
	}
	if in.GetCamera() != nil {
		req.Camera = &pipeline.Camera{}
		for _, c := range in.GetCamera().GetControls() {
			req.Camera.Controls = append(req.Camera.Controls, pipeline.TimedControl{AtS: c.GetAtS(), Keys: c.GetKeys()})
		}
		for _, p := range in.GetCamera().GetPoses() {
			req.Camera.Poses = append(req.Camera.Poses, poseFromWire(p))
		}
	}
	if raw := in.GetParametersJson(); len(raw) > 0 {
		if err := json.Unmarshal(raw, &req.Parameters); err != nil {
			return req, fmt.Errorf("%w: parameters: %w", ErrInvalid, err)
		}
	}
	return req, nil
}

func controlToWire(session string, c pipeline.Control) *enginepb.ControlRequest {
	out := &enginepb.ControlRequest{SessionId: session, Id: c.ID, Keys: c.Keys, Prompt: c.Prompt, Reset_: c.Reset}
	if c.Pose != nil {
		out.Pose = poseToWire(*c.Pose)
	}
	for _, pose := range c.Path {
		out.Path = append(out.Path, poseToWire(pose))
	}
	return out
}

func controlFromWire(in *enginepb.ControlRequest) pipeline.Control {
	c := pipeline.Control{ID: in.GetId(), Keys: in.Keys, Prompt: in.Prompt, Reset: in.GetReset_()}
	if in.GetPose() != nil {
		pose := poseFromWire(in.GetPose())
		c.Pose = &pose
	}
	for _, pose := range in.GetPath() {
		c.Path = append(c.Path, poseFromWire(pose))
	}
	return c
}

func poseToWire(p pipeline.Pose) *enginepb.Pose {
	return &enginepb.Pose{X: p.X, Y: p.Y, Z: p.Z, Yaw: p.Yaw, Pitch: p.Pitch}
}

func poseFromWire(p *enginepb.Pose) pipeline.Pose {
	return pipeline.Pose{X: p.GetX(), Y: p.GetY(), Z: p.GetZ(), Yaw: p.GetYaw(), Pitch: p.GetPitch()}
}

func chunkToWire(c pipeline.Chunk) (*enginepb.Chunk, error) {
	out := &enginepb.Chunk{
		Index: int32(c.Index), Frames: int32(len(c.Frames)), ControlIds: c.Applied.ControlIDs, Keys: c.Applied.Keys,
		Pose: poseToWire(c.Applied.Pose), State: c.State,
	}
	if c.Sound != nil {
		out.Sound = &enginepb.Sound{Channels: int32(c.Sound.Channels), Pcm: c.Sound.Bytes()}
	}
	for _, stage := range c.Stages {
		out.Stages = append(out.Stages, &enginepb.Stage{Name: stage.Name, DurationNs: stage.DurationNS})
	}
	if c.Timing != nil {
		var err error
		if out.TimingJson, err = json.Marshal(c.Timing); err != nil {
			return nil, fmt.Errorf("engine: timing: %w", err)
		}
	}
	return out, nil
}

func chunkFromWire(in *enginepb.Chunk, frames []media.Frame) (pipeline.Chunk, error) {
	if int(in.GetFrames()) != len(frames) {
		return pipeline.Chunk{}, fmt.Errorf("%d frames of %d came", len(frames), in.GetFrames())
	}
	c := pipeline.Chunk{Index: int(in.GetIndex()), Frames: frames, State: in.GetState()}
	c.Applied = pipeline.Applied{ControlIDs: in.GetControlIds(), Keys: in.GetKeys(), Pose: poseFromWire(in.GetPose())}
	if in.GetSound() != nil {
		sound, err := media.SoundFromBytes(int(in.GetSound().GetChannels()), in.GetSound().GetPcm())
		if err != nil {
			return pipeline.Chunk{}, err
		}
		c.Sound = &sound
	}
	for _, stage := range in.GetStages() {
		c.Stages = append(c.Stages, pipeline.StageFact{Name: stage.GetName(), DurationNS: stage.GetDurationNs()})
	}
	if raw := in.GetTimingJson(); len(raw) > 0 {
		if err := json.Unmarshal(raw, &c.Timing); err != nil {
			return c, fmt.Errorf("timing: %w", err)
		}
	}
	return c, nil
}

func frameFromWire(in *enginepb.Frame) (media.Frame, error) {
	f := media.Frame{Width: int(in.GetWidth()), Height: int(in.GetHeight()), Data: in.GetData()}
	return f, checkFrame(f)
}

// checkFrame refuses a frame of another size than its picture's.
func checkFrame(f media.Frame) error {
	if f.Width < 2 || f.Height < 2 || f.Width%2+f.Height%2 != 0 || len(f.Data) != media.FrameBytes(f.Width, f.Height) {
		return fmt.Errorf("frame of %dx%d has %d bytes", f.Width, f.Height, len(f.Data))
	}
	return nil
}
