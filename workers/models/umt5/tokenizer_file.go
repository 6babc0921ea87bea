package umt5

import (
	"encoding/json"
	"fmt"
)

// tokenizerFile is what a tokenizer.json holds of what is needed here.
type tokenizerFile struct {
	Added []struct {
		ID      int    `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
	Normaliser   *step `json:"normalizer"`
	PreTokenizer *step `json:"pre_tokenizer"`
	Model        struct {
		Type         string  `json:"type"`
		Unk          *int    `json:"unk_id"`
		Vocabulary   []entry `json:"vocab"`
		ByteFallback bool    `json:"byte_fallback"`
	} `json:"model"`
}

// step is one of a tokenizer's steps, or a row of them.
type step struct {
	Type          string `json:"type"`
	Table         []byte `json:"precompiled_charsmap"`
	Scheme        string `json:"prepend_scheme"`
	AddPrefix     *bool  `json:"add_prefix_space"`
	Normalisers   []step `json:"normalizers"`
	PreTokenizers []step `json:"pretokenizers"`
}

// entry is a piece and its score.
type entry struct {
	text  string
	score float32
}

// UnmarshalJSON reads ["text", score].
func (e *entry) UnmarshalJSON(data []byte) error {
	var pair []json.RawMessage
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("a piece of %d values", len(pair))
	}
	if err := json.Unmarshal(pair[0], &e.text); err != nil {
		return err
	}
	return json.Unmarshal(pair[1], &e.score)
}

// parseTokenizerFile reads a tokenizer.json with a unigram model into the form of a spiece.model.
func parseTokenizerFile(data []byte) (*modelFile, error) {
	var f tokenizerFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, unusable("%v", err)
	}
	switch n := len(f.Model.Vocabulary); {
	case f.Model.Type != "Unigram":
		return nil, unusable("a model of type %.40q, not Unigram", f.Model.Type)
	case n > piecesMax:
		return nil, unusable("more than %d pieces", piecesMax)
	case f.Model.Unk == nil || *f.Model.Unk < 0 || *f.Model.Unk >= n:
		return nil, unusable("no unknown piece among %d", n)
	}
	m := &modelFile{
		unk: uint64(*f.Model.Unk), byteFallback: f.Model.ByteFallback, norm: normaliser{dummyPrefix: true, squeeze: true, escape: true},
	}
	for _, e := range f.Model.Vocabulary {
		m.pieces = append(m.pieces, piece{e.text, e.score, normal})
	}
	m.pieces[m.unk].kind = unknown
	for _, a := range f.Added {
		if a.ID < 0 || a.ID >= len(m.pieces) || m.pieces[a.ID].text != a.Content {
			continue // beyond the model's own
		}
		switch {
		case a.ID == *f.Model.Unk:
		case a.Special:
			m.pieces[a.ID].kind = control
		default:
			m.pieces[a.ID].kind = userDefined
		}
	}
	if m.byteFallback {
		m.markBytes()
	}
	f.steps(f.Normaliser, m)
	f.steps(f.PreTokenizer, m)
	return m, nil
}

// markBytes makes pieces named as bytes such.
func (m *modelFile) markBytes() {
	names := map[string]bool{}
	for b := range 256 {
		names[fmt.Sprintf("<0x%02X>", b)] = true
	}
	for i := range m.pieces {
		if names[m.pieces[i].text] {
			m.pieces[i].kind = byteValue
		}
	}
}

// steps takes the table of characters and the space in front out of a tokenizer's steps.
func (f *tokenizerFile) steps(s *step, m *modelFile) {
	if s == nil {
		return
	}
	switch s.Type {
	case "Precompiled":
		m.table = s.Table
	case "Metaspace":
		m.norm.dummyPrefix = s.Scheme != "never" && (s.AddPrefix == nil || *s.AddPrefix)
	}
	for i := range s.Normalisers {
		f.steps(&s.Normalisers[i], m)
	}
	for i := range s.PreTokenizers {
		f.steps(&s.PreTokenizers[i], m)
	}
}
