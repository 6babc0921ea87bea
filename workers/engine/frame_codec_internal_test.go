package engine

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"telefuser/workers/engine/enginepb"
)

// codecMessages are what Next answers, and what is like it.
func codecMessages() map[string]*enginepb.NextResponse {
	frame := func(f *enginepb.Frame) *enginepb.NextResponse {
		return &enginepb.NextResponse{Part: &enginepb.NextResponse_Frame{Frame: f}}
	}
	picture := bytes.Repeat([]byte{1, 2, 3, 4, 5}, 60_000)
	return map[string]*enginepb.NextResponse{
		"frame": frame(&enginepb.Frame{Width: 832, Height: 480, Data: picture}), "small": frame(&enginepb.Frame{Width: 2, Height: 2, Data: picture[:6]}),
		"negative": frame(&enginepb.Frame{Width: -1, Height: 480, Data: picture}), "no width": frame(&enginepb.Frame{Height: 480, Data: picture}),
		"no data": frame(&enginepb.Frame{Width: 2, Height: 2}), "empty frame": frame(&enginepb.Frame{}), "nothing": {},
		"chunk": {Part: &enginepb.NextResponse_Chunk{Chunk: &enginepb.Chunk{Index: 3, Frames: 1, State: picture}}},
	}
}

// TestFramesGoAsProtobufReadsThem, whoever wrote them and however the transport has cut them.
func TestFramesGoAsProtobufReadsThem(t *testing.T) {
	codec := newFrameCodec()
	for name, want := range codecMessages() {
		ours, err := codec.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := proto.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var read enginepb.NextResponse
		if err := proto.Unmarshal(ours.Materialize(), &read); err != nil || !proto.Equal(&read, want) {
			t.Errorf("%s: protobuf reads something else: %v", name, err)
		}
		for _, raw := range [][]byte{ours.Materialize(), theirs} {
			for _, cut := range []int{1, 7, 16 << 10, 1 << 20} {
				var got enginepb.NextResponse
				if err := codec.Unmarshal(cutTo(raw, cut), &got); err != nil || !proto.Equal(&got, want) {
					t.Errorf("%s in parts of %d bytes: %v", name, cut, err)
				}
			}
		}
	}
}

// TestBrokenFramesAreRefused: a header that promises another number of bytes is none.
func TestBrokenFramesAreRefused(t *testing.T) {
	codec := newFrameCodec()
	whole, err := codec.Marshal(codecMessages()["frame"])
	if err != nil {
		t.Fatal(err)
	}
	raw := whole.Materialize()
	for _, broken := range [][]byte{raw[:len(raw)-1], raw[:9], append(bytes.Clone(raw), 0)} {
		if err := codec.Unmarshal(cutTo(broken, 16<<10), &enginepb.NextResponse{}); err == nil {
			t.Errorf("%d bytes of %d were read", len(broken), len(raw))
		}
	}
}

// TestFramesAreNotCopied when they are sent.
func TestFramesAreNotCopied(t *testing.T) {
	frame := codecMessages()["frame"]
	out, err := newFrameCodec().Marshal(frame)
	if err != nil {
		t.Fatal(err)
	}
	if data := frame.GetFrame().GetData(); &out[len(out)-1].ReadOnlyData()[0] != &data[0] {
		t.Error("the data are others")
	}
}

// cutTo is a message as a transport has it.
func cutTo(raw []byte, size int) mem.BufferSlice {
	var out mem.BufferSlice
	for ; len(raw) > size; raw = raw[size:] {
		out = append(out, mem.SliceBuffer(raw[:size]))
	}
	return append(out, mem.SliceBuffer(raw))
}
