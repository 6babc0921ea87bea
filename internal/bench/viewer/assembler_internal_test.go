package viewer

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
)

// stream cuts n pictures of some packets each; picture i holds i's byte, and the first is a keyframe.
func stream(n int) []*rtp.Packet {
	p := rtp.NewPacketizer(200, 96, 1, &codecs.VP8Payloader{EnablePictureID: true}, rtp.NewFixedSequencer(65_500), 90_000)
	var packets []*rtp.Packet
	for i := range n {
		data := bytes.Repeat([]byte{byte(i)}, 500)
		data[0] = byte(min(i, 1))
		packets = append(packets, p.Packetize(data, 5625)...)
	}
	return packets
}

func TestFramesAreWholeWhateverTheOrder(t *testing.T) {
	const frames = 40
	packets := stream(frames)
	// Neighbours change places, as on a network with two ways; the sequence numbers run over.
	random := rand.New(rand.NewPCG(1, 2))
	for i := 2; i < len(packets); i++ {
		if j := i - random.IntN(2); j != i {
			packets[i], packets[j] = packets[j], packets[i]
		}
	}
	a := newAssembler()
	var got []Frame
	for i, p := range packets {
		got = append(got, a.push(p)...)
		if i%5 == 0 {
			got = append(got, a.push(p)...)
		}
	}
	if len(got) != frames || a.lost != 0 {
		t.Fatalf("%d frames of %d, %d packets lost", len(got), frames, a.lost)
	}
	for i, f := range got {
		if len(f.Data) != 500 || f.Data[1] != byte(i) || f.Key != (i == 0) {
			t.Errorf("frame %d: %d bytes of %d, key %v", i, len(f.Data), f.Data[1], f.Key)
		}
	}
}

func TestALostPacketCostsItsFrameAlone(t *testing.T) {
	const frames = 200
	packets := stream(frames)
	a := newAssembler()
	n := 0
	for i, p := range packets {
		if i == 7 {
			continue
		}
		n += len(a.push(p))
	}
	if n != frames-1 || a.lost != 1 {
		t.Errorf("%d frames of %d, %d packets lost", n, frames, a.lost)
	}
}
