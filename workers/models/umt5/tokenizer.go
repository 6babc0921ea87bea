package umt5

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a tokenizer, best first.
const (
	modelName     = "spiece.model"
	tokenizerName = "tokenizer.json"
)

// TextBytesMax is the longest text that is tokenised.
const TextBytesMax = 64 << 10

// Tokenizer turns text into numbers of pieces. Its methods may be called at once.
type Tokenizer struct {
	vocabulary *vocabulary
	normaliser normaliser
}

// OpenTokenizer reads a file, or the spiece.model or the tokenizer.json of a folder. The error
// wraps ErrTokenizer.
func OpenTokenizer(path string) (*Tokenizer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unusable("%v", err)
	}
	if info.IsDir() {
		dir := path
		path = filepath.Join(dir, modelName)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path = filepath.Join(dir, tokenizerName)
		}
		if _, err := os.Stat(path); err != nil {
			return nil, unusable("%s holds neither %s nor %s", dir, modelName, tokenizerName)
		}
	}
	data, err := readFile(path)
	if err != nil {
		return nil, unusable("%v", err)
	}
	parse := parseModelFile
	if filepath.Ext(path) == ".json" {
		parse = parseTokenizerFile
	}
	t, err := newTokenizer(parse(data))
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	return t, nil
}

// newTokenizer takes what a parser gives.
func newTokenizer(m *modelFile, err error) (*Tokenizer, error) {
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{normaliser: m.norm}
	if t.normaliser.table, err = parseCharsmap(m.table); err != nil {
		return nil, err
	}
	if t.vocabulary, err = newVocabulary(m.pieces, int(m.unk), m.byteFallback); err != nil {
		return nil, err
	}
	if !t.vocabulary.hasEOS {
		return nil, unusable("no piece </s>")
	}
	t.normaliser.keep(t.vocabulary.userDefined)
	return t, nil
}

// readFile reads a file of at most fileBytesMax.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, fileBytesMax+1))
	if err == nil && len(data) > fileBytesMax {
		err = fmt.Errorf("%s has more than %d bytes", path, fileBytesMax)
	}
	return data, err
}

// Pieces is the size of the vocabulary.
func (t *Tokenizer) Pieces() int { return len(t.vocabulary.pieces) }

// Split gives the pieces of a text as it stands, without an end.
func (t *Tokenizer) Split(text string) ([]int32, error) {
	if len(text) > TextBytesMax {
		return nil, tooLong(text)
	}
	return t.vocabulary.split(t.normaliser.normalise(text)), nil
}

func tooLong(text string) error {
	return fmt.Errorf("%w: %d bytes; at most %d are read", ErrText, len(text), TextBytesMax)
}

// Tokens are the pieces of a prompt, padded to a length. The first Length of them count.
type Tokens struct {
	IDs    []int32
	Length int
}

// Encode cleans a prompt, splits it, cuts it to length-1 pieces, ends it with </s> and pads it to
// length. A prompt may be longer; what is cut is lost, as in the published pipelines.
func (t *Tokenizer) Encode(prompt string, length int) (Tokens, error) {
	if length < 1 {
		return Tokens{}, fmt.Errorf("%w: no room for its end", ErrText)
	}
	if len(prompt) > TextBytesMax {
		return Tokens{}, tooLong(prompt)
	}
	ids, err := t.Split(Clean(prompt))
	if err != nil {
		return Tokens{}, err
	}
	ids = append(ids[:min(len(ids), length-1)], t.vocabulary.eos)
	out := Tokens{IDs: make([]int32, length), Length: len(ids)}
	for i := range out.IDs {
		out.IDs[i] = t.vocabulary.pad
	}
	copy(out.IDs, ids)
	return out, nil
}

// Mask is 1 for the tokens that count and 0 for the padding.
func (k Tokens) Mask() []int32 {
	mask := make([]int32, len(k.IDs))
	for i := range k.Length {
		mask[i] = 1
	}
	return mask
}
