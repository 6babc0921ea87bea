package umt5

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// kind is what a piece is for, numbered as in SentencePiece's files.
type kind int

const (
	normal      kind = 1
	unknown     kind = 2
	control     kind = 3
	userDefined kind = 4
	unused      kind = 5
	byteValue   kind = 6
)

// piece is one entry of a vocabulary.
type piece struct {
	text  string
	score float32
	kind  kind
}

// Limits of a tokenizer's files.
const (
	fileBytesMax   = 64 << 20
	piecesMax      = 1 << 20
	pieceBytesMax  = 1 << 10
	userDefinedMax = 1 << 12
)

// unknownPenalty is how much worse than the worst piece a character without a piece is.
const unknownPenalty = 10

// vocabulary is a unigram model: pieces with the logarithms of their probabilities.
type vocabulary struct {
	pieces       []piece
	byText       map[string]int32
	longest      int // bytes of the longest piece
	unk          int32
	bytes        []int32 // the piece of each byte; nil: unknown characters stay unknown
	low, high    float32 // scores of normal pieces
	userDefined  []string
	eos, pad     int32
	hasEOS       bool
	unknownScore float32
}

// newVocabulary checks pieces and makes them ready. unk is the place of the unknown piece.
func newVocabulary(pieces []piece, unk int, byteFallback bool) (*vocabulary, error) {
	if unk < 0 || unk >= len(pieces) {
		return nil, unusable("the unknown piece is number %d of %d", unk, len(pieces))
	}
	v := &vocabulary{
		pieces: pieces, byText: make(map[string]int32, len(pieces)), unk: int32(unk), low: math.MaxFloat32, high: -math.MaxFloat32,
	}
	for i, p := range pieces {
		if err := v.add(int32(i), p); err != nil {
			return nil, err
		}
	}
	if v.low > v.high {
		return nil, unusable("no normal piece")
	}
	v.unknownScore = v.low - unknownPenalty
	if byteFallback {
		return v, v.findBytes()
	}
	return v, nil
}

// add takes one piece in. Control pieces, the unknown one and bytes are never found in a text.
func (v *vocabulary) add(id int32, p piece) error {
	switch {
	case p.text == "" || len(p.text) > pieceBytesMax || !utf8.ValidString(p.text):
		return unusable("piece %d is empty, too long, or not UTF-8", id)
	case p.score != p.score || math.IsInf(float64(p.score), 0):
		return unusable("piece %d has the score %g", id, p.score)
	}
	switch p.kind {
	case normal, userDefined, unused:
		if _, twice := v.byText[p.text]; twice {
			return unusable("the piece %q comes twice", p.text)
		}
		v.byText[p.text] = id
		v.longest = max(v.longest, len(p.text))
	case control:
		switch p.text {
		case "</s>":
			v.eos, v.hasEOS = id, true
		case "<pad>":
			v.pad = id
		}
	case unknown, byteValue:
	default:
		return unusable("piece %d is of the unknown kind %d", id, p.kind)
	}
	if p.kind == normal {
		v.low, v.high = min(v.low, p.score), max(v.high, p.score)
	}
	if p.kind == userDefined {
		if v.userDefined = append(v.userDefined, p.text); len(v.userDefined) > userDefinedMax {
			return unusable("more than %d pieces that users defined", userDefinedMax)
		}
	}
	return nil
}

// findBytes looks for the pieces <0x00> to <0xFF>.
func (v *vocabulary) findBytes() error {
	place := map[string]int32{}
	for i, p := range v.pieces {
		if p.kind == byteValue {
			place[p.text] = int32(i)
		}
	}
	v.bytes = make([]int32, 256)
	for b := range v.bytes {
		id, ok := place[fmt.Sprintf("<0x%02X>", b)]
		if !ok {
			return unusable("no piece for the byte %#02x", b)
		}
		v.bytes[b] = id
	}
	return nil
}
