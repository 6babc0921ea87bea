package engine

import (
	"io"

	"telefuser/workers/engine/enginepb"
)

// firstExtraFD is the number of a child's first descriptor beside the standard three.
const firstExtraFD = 3

type nothing struct{}

func (nothing) Close() error { return nil }

// shareFrames makes memory for frames and hands it on to the process that is about to start. Our own file is to be closed when it has. Without such memory frames are sent.
func (p *process) shareFrames() io.Closer {
	if p.cfg.FrameMemoryBytes < 0 {
		return nothing{}
	}
	memory, file, err := newFrameMemory(p.cfg.FrameMemoryBytes)
	if err != nil {
		p.log.Warn("frames are sent over the socket", "error", err)
	}
	if memory == nil {
		return nothing{}
	}
	p.frames, p.framesFD = memory, firstExtraFD+len(p.cmd.ExtraFiles)
	p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, file)
	return file
}

// offer is the request to load, which tells the engine of the memory.
func (p *process) offer() *enginepb.LoadRequest {
	if p.frames == nil {
		return &enginepb.LoadRequest{}
	}
	return &enginepb.LoadRequest{FrameMemoryFd: int32(p.framesFD), FrameMemoryBytes: p.cfg.FrameMemoryBytes}
}

// lend begins a session's account of the frames in the memory, which it holds until its end.
func (p *process) lend() *lentFrames {
	l := &lentFrames{out: map[uint64]bool{}}
	if p.frames != nil {
		l.memory = p.frames.hold()
	}
	return l
}

// dropFrames lets go of the memory when the process is gone. Sessions that are still open keep it.
func (p *process) dropFrames() error {
	if p.frames == nil {
		return nil
	}
	return p.frames.drop()
}
