package media

import (
	"encoding/binary"
	"fmt"
)

// SoundRate is how many samples a second each channel of a Sound has.
const SoundRate = 48_000

// Sound is what is heard while a chunk's frames are shown: from the first one's beginning to the last one's end.
type Sound struct {
	// Channels is 1 or 2.
	Channels int
	// PCM are 16-bit samples, those of one moment after another.
	PCM []int16
}

// Moments is how long it lasts, in samples of one channel.
func (s Sound) Moments() int { return len(s.PCM) / max(1, s.Channels) }

// Part is what is heard between two of the parts that it is divided into. It shares memory with the whole.
func (s Sound) Part(from, to, of int) Sound {
	at := func(part int) int { return part * s.Moments() / max(1, of) * s.Channels }
	return Sound{Channels: s.Channels, PCM: s.PCM[at(from):at(to)]}
}

// Bytes are the samples with the low byte first.
func (s Sound) Bytes() []byte {
	out := make([]byte, 0, 2*len(s.PCM))
	for _, v := range s.PCM {
		out = binary.LittleEndian.AppendUint16(out, uint16(v))
	}
	return out
}

// SoundFromBytes reads what Bytes made. It fails with ErrGeometry (wrapped) when the bytes are not whole moments of one or two channels.
func SoundFromBytes(channels int, pcm []byte) (Sound, error) {
	if channels < 1 || channels > 2 || len(pcm)%(2*channels) != 0 {
		return Sound{}, fmt.Errorf("%w: sound of %d channels in %d bytes", ErrGeometry, channels, len(pcm))
	}
	s := Sound{Channels: channels, PCM: make([]int16, len(pcm)/2)}
	for i := range s.PCM {
		s.PCM[i] = int16(binary.LittleEndian.Uint16(pcm[2*i:]))
	}
	return s, nil
}
