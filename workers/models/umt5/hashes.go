package umt5

import (
	"hash/fnv"
	"strings"
)

// Hashes are in place of a tokenizer where weights come from a seed and no vocabulary is at hand: each word is the piece that its hash chooses among so many.
// Equal words are equal pieces, and that is all that they mean.
type Hashes struct{ Pieces int }

// The pieces of every vocabulary of this kind that are no words.
const (
	endPiece, firstPiece = 1, 3 // 0 pads
)

// Encode cleans a prompt, makes a piece of each word, cuts and ends it as a Tokenizer does.
func (h Hashes) Encode(prompt string, length int) (Tokens, error) {
	if length < 1 || h.Pieces <= firstPiece {
		return Tokens{}, ErrText
	}
	if len(prompt) > TextBytesMax {
		return Tokens{}, tooLong(prompt)
	}
	t := Tokens{IDs: make([]int32, length)}
	for word := range strings.FieldsSeq(Clean(prompt)) {
		if t.Length == length-1 {
			break
		}
		sum := fnv.New32a()
		sum.Write([]byte(word))
		t.IDs[t.Length] = int32(firstPiece + sum.Sum32()%uint32(h.Pieces-firstPiece))
		t.Length++
	}
	t.IDs[t.Length] = endPiece
	t.Length++
	return t, nil
}
