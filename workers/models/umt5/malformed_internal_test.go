package umt5

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// message builds a protobuf message of texts and numbers.
type message []byte

func (m message) text(number protowire.Number, v string) message {
	return protowire.AppendString(protowire.AppendTag(m, number, protowire.BytesType), v)
}

func (m message) number(number protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, number, protowire.VarintType), v)
}

func (m message) float(number protowire.Number, v float32) message {
	return protowire.AppendFixed32(protowire.AppendTag(m, number, protowire.Fixed32Type), math.Float32bits(v))
}

func pieceOf(text string, score float32, k kind) string {
	return string(message{}.text(pieceText, text).float(pieceScore, score).number(pieceKind, uint64(k)))
}

// toy is a model file of four pieces and what is added.
func toy(more ...string) message {
	m := message{}
	for _, p := range append([]string{pieceOf("<unk>", 0, unknown), pieceOf("</s>", 0, control), pieceOf("a", -1, normal), pieceOf(space, -2, normal)}, more...) {
		m = m.text(fieldPiece, p)
	}
	return m
}

func trainerOf(m message) string { return string(m) }

func TestMalformedModelFiles(t *testing.T) {
	table := func(units ...uint32) string {
		var b []byte
		b = binary.LittleEndian.AppendUint32(b, uint32(4*len(units)))
		for _, u := range units {
			b = binary.LittleEndian.AppendUint32(b, u)
		}
		return string(b)
	}
	norm := func(table string) string { return string(message{}.text(normTable, table)) }
	for reason, data := range map[string]message{
		"the unknown piece is number 0 of 0": {},
		"the unknown piece is number 9 of 4": toy().text(fieldTrainer, trainerOf(message{}.number(trainerUnk, 9))),
		"a model of kind 2":                  toy().text(fieldTrainer, trainerOf(message{}.number(trainerType, 2))),
		"spaces stand behind words":          toy().text(fieldTrainer, trainerOf(message{}.number(trainerSuffix, 1))),
		"no piece for the byte 0x0":          toy().text(fieldTrainer, trainerOf(message{}.number(trainerBytes, 1))),
		"is empty, too long, or not UTF-8":   toy(pieceOf("", -1, normal)),
		"piece 4 is empty":                   toy(pieceOf("\xff", -1, normal)),
		"4 is empty, too long":               toy(pieceOf(strings.Repeat("x", 1025), -1, normal)),
		"has the score NaN":                  toy(pieceOf("b", float32(math.NaN()), normal)),
		"has the score +Inf":                 toy(pieceOf("b", float32(math.Inf(1)), normal)),
		`the piece "a" comes twice`:          toy(pieceOf("a", -3, normal)),
		"of the unknown kind 7":              toy(pieceOf("b", -3, 7)),
		"no normal piece":                    message{}.text(fieldPiece, pieceOf("<unk>", 0, unknown)),
		"no piece </s>":                      message{}.text(fieldPiece, pieceOf("<unk>", 0, unknown)).text(fieldPiece, pieceOf("a", 0, normal)),
		"a table of characters of 1 bytes":   toy().text(fieldNormaliser, norm("x")),
		"with 8 of its tree":                 toy().text(fieldNormaliser, norm(table(1, 2))),
		"with 3 of its tree":                 toy().text(fieldNormaliser, norm("\x03\x00\x00\x00abc\x00")),
		"a table of characters without":      toy().text(fieldNormaliser, norm(table(1, 2)+"x")),
		"unexpected EOF":                     toy()[:len(toy())-1],
		"invalid field number":               {0, 0},
	} {
		if _, err := newTokenizer(parseModelFile(data)); !errors.Is(err, ErrTokenizer) || !strings.Contains(err.Error(), reason) {
			t.Errorf("want %q, got %v", reason, err)
		}
	}
	if _, err := newTokenizer(parseModelFile(toy())); err != nil {
		t.Error(err)
	}
}

func TestMalformedTokenizerFiles(t *testing.T) {
	const good = `{"added_tokens":[{"id":1,"content":"</s>","special":true}],"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["</s>",0],["a",-1]]}}`
	for reason, change := range map[string][2]string{
		"a model of type \"BPE\"":     {`"Unigram"`, `"BPE"`},
		"no unknown piece among 3":    {`"unk_id":0`, `"unk_id":3`},
		"no unknown piece":            {`"unk_id":0,`, ``},
		"a piece of 1 values":         {`["a",-1]`, `["a"]`},
		"cannot unmarshal":            {`["a",-1]`, `["a","b"]`},
		"no piece </s>":               {`"special":true`, `"special":false`},
		"unexpected end":              {`]]}}`, ``},
		"no piece for the byte 0x0":   {`"unk_id":0`, `"unk_id":0,"byte_fallback":true`},
		"illegal base64":              {`"model"`, `"normalizer":{"type":"Precompiled","precompiled_charsmap":"!"},"model"`},
		"a table of characters of 1 ": {`"model"`, `"normalizer":{"type":"Sequence","normalizers":[{"type":"Precompiled","precompiled_charsmap":"AA=="}]},"model"`},
	} {
		if !strings.Contains(good, change[0]) {
			t.Fatalf("%s is not in the file", change[0])
		}
		_, err := newTokenizer(parseTokenizerFile([]byte(strings.Replace(good, change[0], change[1], 1))))
		if !errors.Is(err, ErrTokenizer) || !strings.Contains(err.Error(), reason) {
			t.Errorf("want %q, got %v", reason, err)
		}
	}
	if _, err := newTokenizer(parseTokenizerFile([]byte(good))); err != nil {
		t.Error(err)
	}
}

func TestAHostileTableIsHarmless(t *testing.T) {
	for _, units := range [][]uint32{{0}, {1 << 31}, {0xffffffff, 0xffffffff}, {1 << 10, 'a', 'a' | 1<<8}, {'a'<<10 | 1<<9, 'a' | 1<<8}} {
		c := charsmap{units: units, texts: []byte{'x', 0}}
		for _, text := range []string{"a", "aa", "\x00", "é", "\xff"} {
			if part, n := c.prefix(text); n < 1 || n > len(text) {
				t.Errorf("%v: %q, %d bytes of %q", units, part, n, text)
			}
		}
	}
}

func TestAFileThatIsTooLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), modelName)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, fileBytesMax+1); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTokenizer(path); !errors.Is(err, ErrTokenizer) || !strings.Contains(err.Error(), "has more than 67108864 bytes") {
		t.Error(err)
	}
}
