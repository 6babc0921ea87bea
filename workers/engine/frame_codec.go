package engine

import (
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec of all other messages
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"telefuser/workers/engine/enginepb"
)

// frameCodec writes the bytes that protobuf would, without copying the pictures: what is sent is the frame itself, which nobody may change any more, and what comes
// is copied once, out of the transport's buffers into a frame of its own.
type frameCodec struct{ encoding.CodecV2 }

func newFrameCodec() frameCodec { return frameCodec{encoding.GetCodecV2("proto")} }

// The numbers of the fields in engine.proto.
const (
	partFrame   protowire.Number = 1
	frameWidth  protowire.Number = 1
	frameHeight protowire.Number = 2
	frameData   protowire.Number = 3
)

// Marshal puts a frame's data behind its header.
func (c frameCodec) Marshal(v any) (mem.BufferSlice, error) {
	response, ok := v.(*enginepb.NextResponse)
	if !ok || len(response.GetFrame().GetData()) == 0 {
		return c.CodecV2.Marshal(v)
	}
	frame := response.GetFrame()
	var inner []byte
	inner = protowire.AppendVarint(protowire.AppendTag(inner, frameWidth, protowire.VarintType), uint64(frame.GetWidth()))
	inner = protowire.AppendVarint(protowire.AppendTag(inner, frameHeight, protowire.VarintType), uint64(frame.GetHeight()))
	inner = protowire.AppendVarint(protowire.AppendTag(inner, frameData, protowire.BytesType), uint64(len(frame.GetData())))
	head := protowire.AppendTag(nil, partFrame, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(inner)+len(frame.GetData())))
	return mem.BufferSlice{mem.SliceBuffer(append(head, inner...)), mem.SliceBuffer(frame.GetData())}, nil
}

// Unmarshal knows frames by the header that Marshal writes; everything else is protobuf's.
func (c frameCodec) Unmarshal(data mem.BufferSlice, v any) error {
	response, ok := v.(*enginepb.NextResponse)
	if !ok || len(data) == 0 {
		return c.CodecV2.Unmarshal(data, v)
	}
	frame, head := frameHead(data[0].ReadOnlyData(), data.Len())
	if frame == nil {
		return c.CodecV2.Unmarshal(data, v)
	}
	frame.Data = make([]byte, 0, data.Len()-head)
	for _, buffer := range data {
		part := buffer.ReadOnlyData()
		skip := min(head, len(part))
		frame.Data, head = append(frame.Data, part[skip:]...), head-skip
	}
	response.Part = &enginepb.NextResponse_Frame{Frame: frame}
	return nil
}

// frameHead reads the header of a message of so many bytes, and answers the frame without its data and where they begin; nil where it is no frame, or not all of the
// header is there.
func frameHead(raw []byte, total int) (frame *enginepb.Frame, head int) {
	var fields [4]uint64
	for i, want := range []struct {
		number protowire.Number
		kind   protowire.Type
	}{{partFrame, protowire.BytesType}, {frameWidth, protowire.VarintType}, {frameHeight, protowire.VarintType}, {frameData, protowire.BytesType}} {
		number, kind, n := protowire.ConsumeTag(raw[head:])
		if n < 0 || number != want.number || kind != want.kind {
			return nil, 0
		}
		head += n
		if fields[i], n = protowire.ConsumeVarint(raw[head:]); n < 0 {
			return nil, 0
		}
		head += n
		if kind == protowire.BytesType && fields[i] != uint64(total-head) {
			return nil, 0
		}
	}
	return &enginepb.Frame{Width: int32(fields[1]), Height: int32(fields[2])}, head
}
