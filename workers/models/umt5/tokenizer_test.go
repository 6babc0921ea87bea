package umt5_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"telefuser/workers/models/umt5"
)

// golden is a text and the pieces that the packages sentencepiece (plain, bytes) and tokenizers
// (fast) split it into; testdata/make.py made them.
type golden struct {
	Text  string  `json:"text"`
	Plain []int32 `json:"plain"`
	Bytes []int32 `json:"bytes"`
	Fast  []int32 `json:"fast"`
}

func goldens(t *testing.T) []golden {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	if err := json.Unmarshal(data, &all); err != nil || len(all) < 50 {
		t.Fatalf("%d texts: %v", len(all), err)
	}
	return all
}

func open(t testing.TB, path string) *umt5.Tokenizer {
	t.Helper()
	k, err := umt5.OpenTokenizer(path)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestPiecesAreThoseOfThePythonPackages(t *testing.T) {
	plain, withBytes, fast := open(t, "testdata/plain.model"), open(t, "testdata/bytes.model"), open(t, "testdata/plain.json")
	differ := 0
	for _, g := range goldens(t) {
		if !slices.Equal(g.Plain, g.Fast) {
			differ++ // the packages do not agree with each other: ours is SentencePiece's
			g.Fast = g.Plain
		}
		for name, c := range map[string]struct {
			tokenizer *umt5.Tokenizer
			want      []int32
		}{"plain": {plain, g.Plain}, "bytes": {withBytes, g.Bytes}, "fast": {fast, g.Fast}} {
			if got, err := c.tokenizer.Split(g.Text); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: %q: %v, want %v (%v)", name, g.Text, got, c.want, err)
			}
		}
	}
	if differ > 12 {
		t.Errorf("the packages differ on %d texts", differ)
	}
}

func TestEncodeEndsAndPads(t *testing.T) {
	k := open(t, "testdata/plain.model")
	pieces, err := k.Split("the lake")
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Encode("  the\n\tlake ", 12)
	n := len(pieces) + 1
	want := append(append(slices.Clone(pieces), 1), make([]int32, 12-n)...)
	if err != nil || got.Length != n || !slices.Equal(got.IDs, want) {
		t.Errorf("%+v, want %v (%v)", got, want, err)
	}
	mask := got.Mask()
	if len(mask) != 12 || mask[n-1] != 1 || mask[n] != 0 {
		t.Errorf("mask %v", mask)
	}
	if got, err = k.Encode(strings.Repeat("the lake ", 100), 8); err != nil || got.Length != 8 || got.IDs[7] != 1 || got.IDs[0] != pieces[0] {
		t.Errorf("cut: %+v %v", got, err)
	}
	if got, err = k.Encode("", 4); err != nil || got.Length != 1 || !slices.Equal(got.IDs, []int32{1, 0, 0, 0}) {
		t.Errorf("empty: %+v %v", got, err)
	}
	if _, err = k.Encode("a", 0); !errors.Is(err, umt5.ErrText) {
		t.Error(err)
	}
	if _, err = k.Encode(strings.Repeat("a", umt5.TextBytesMax+1), 4); !errors.Is(err, umt5.ErrText) {
		t.Error(err)
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"  a \t\r\n b\u00a0c\u3000 ":  "a b c",
		"“curved” ‘quotes’ don’t":     `"curved" 'quotes' don't`,
		"a &amp; b &amp;lt;c&amp;gt;": "a & b <c>",
		"<b> &amp;amp;":               "<b> &",
		"red\x1b[31mred\x1b[0m":       "redred",
		"a\x00b\x07c\ufeffd\u206ae":   "abcde",
		"\n\n":                        "",
		"清晨 平静":                       "清晨 平静",
	} {
		if got := umt5.Clean(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestWhichFileOfAFolder(t *testing.T) {
	dir := t.TempDir()
	wantUnusable(t, dir, "holds neither spiece.model nor tokenizer.json")
	wantUnusable(t, filepath.Join(dir, "none"), "no such file")
	copyFile(t, "testdata/plain.json", filepath.Join(dir, "tokenizer.json"))
	if n := open(t, dir).Pieces(); n != open(t, "testdata/plain.model").Pieces() {
		t.Errorf("%d pieces", n)
	}
	copyFile(t, "testdata/bytes.model", filepath.Join(dir, "spiece.model"))
	if n := open(t, dir).Pieces(); n != open(t, "testdata/bytes.model").Pieces() {
		t.Errorf("%d pieces", n)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func wantUnusable(t *testing.T, path, reason string) {
	t.Helper()
	if _, err := umt5.OpenTokenizer(path); !errors.Is(err, umt5.ErrTokenizer) || !strings.Contains(err.Error(), reason) {
		t.Errorf("want %q, got %v", reason, err)
	}
}

func FuzzTokenizer(f *testing.F) {
	for _, name := range []string{"plain.model", "bytes.model"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "the lake e\u0301 ☃")
	}
	path := filepath.Join(f.TempDir(), "spiece.model")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := umt5.OpenTokenizer(path)
		if err != nil {
			if !errors.Is(err, umt5.ErrTokenizer) {
				t.Fatal(err)
			}
			return
		}
		checkPieces(t, k, text)
	})
}

func FuzzText(f *testing.F) {
	for _, text := range []string{"", "the lake", "☃ \u0301", "\xff\xfe", "▁▁", "<cam><cam><cam>"} {
		f.Add(text)
	}
	plain, withBytes := open(f, "testdata/plain.model"), open(f, "testdata/bytes.model")
	f.Fuzz(func(t *testing.T, text string) {
		checkPieces(t, plain, text)
		checkPieces(t, withBytes, text)
	})
}

func checkPieces(t *testing.T, k *umt5.Tokenizer, text string) {
	t.Helper()
	got, err := k.Encode(text, 16)
	if err != nil {
		if !errors.Is(err, umt5.ErrText) {
			t.Fatal(err)
		}
		return
	}
	for _, id := range got.IDs {
		if id < 0 || int(id) >= k.Pieces() {
			t.Fatalf("%q: %v", text, got.IDs)
		}
	}
}
