package umt5

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of SentencePiece's model file.
const (
	fieldPiece, fieldTrainer, fieldNormaliser            = 1, 2, 3
	pieceText, pieceScore, pieceKind                     = 1, 2, 3
	trainerType, trainerSuffix, trainerBytes, trainerUnk = 3, 24, 35, 40
	normTable, normPrefix, normSqueeze, normEscape       = 2, 3, 4, 5
	unigramType                                          = 1
)

// modelFile is what a spiece.model holds.
type modelFile struct {
	pieces       []piece
	kind         uint64
	unk          uint64
	byteFallback bool
	suffix       bool
	table        []byte
	norm         normaliser
}

// parseModelFile reads a spiece.model. Fields that are not named above are passed over.
func parseModelFile(data []byte) (*modelFile, error) {
	m := &modelFile{kind: unigramType, norm: normaliser{dummyPrefix: true, squeeze: true, escape: true}}
	err := fields(data, func(number protowire.Number, v value) error {
		switch number {
		case fieldPiece:
			return m.piece(v.bytes)
		case fieldTrainer:
			return fields(v.bytes, m.trainer)
		case fieldNormaliser:
			return fields(v.bytes, m.normaliser)
		default:
			return nil
		}
	})
	switch {
	case err != nil:
		return nil, err
	case m.kind != unigramType:
		return nil, unusable("a model of kind %d, not a unigram model", m.kind)
	case m.suffix:
		return nil, unusable("spaces stand behind words")
	case m.unk >= uint64(len(m.pieces)):
		return nil, unusable("the unknown piece is number %d of %d", m.unk, len(m.pieces))
	}
	return m, nil
}

func (m *modelFile) piece(data []byte) error {
	if len(m.pieces) == piecesMax {
		return unusable("more than %d pieces", piecesMax)
	}
	p := piece{kind: normal}
	err := fields(data, func(number protowire.Number, v value) error {
		switch number {
		case pieceText:
			p.text = string(v.bytes)
		case pieceScore:
			p.score = math.Float32frombits(uint32(v.number))
		case pieceKind:
			p.kind = kind(min(v.number, math.MaxInt32))
		default:
		}
		return nil
	})
	m.pieces = append(m.pieces, p)
	return err
}

func (m *modelFile) trainer(number protowire.Number, v value) error {
	switch number {
	case trainerType:
		m.kind = v.number
	case trainerSuffix:
		m.suffix = v.number != 0
	case trainerBytes:
		m.byteFallback = v.number != 0
	case trainerUnk:
		m.unk = v.number
	default:
	}
	return nil
}

func (m *modelFile) normaliser(number protowire.Number, v value) error {
	switch number {
	case normTable:
		m.table = v.bytes
	case normPrefix:
		m.norm.dummyPrefix = v.number != 0
	case normSqueeze:
		m.norm.squeeze = v.number != 0
	case normEscape:
		m.norm.escape = v.number != 0
	default:
	}
	return nil
}

// value is one field's: bytes of a message or a text, or a number.
type value struct {
	bytes  []byte
	number uint64
}

// fields walks over the fields of a message.
func fields(data []byte, each func(protowire.Number, value) error) error {
	for len(data) > 0 {
		number, wire, n := protowire.ConsumeTag(data)
		if n < 0 {
			return unusable("%v", protowire.ParseError(n))
		}
		data = data[n:]
		var v value
		switch wire {
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(data)
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(data)
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(data)
			v.number = uint64(x)
		default:
			n = protowire.ConsumeFieldValue(number, wire, data)
		}
		if n < 0 {
			return unusable("%v", protowire.ParseError(n))
		}
		if err := each(number, v); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
