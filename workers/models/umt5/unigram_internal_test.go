package umt5

import (
	"slices"
	"testing"
)

// TestOfEqualSumsTheFirstStays splits a text in two orders of the same pieces, whose sums differ in float64 alone.
func TestOfEqualSumsTheFirstStays(t *testing.T) {
	for i := range 50 {
		scores := [2]float32{-1 - 0.37*float32(i), -1.3 - 0.73*float32(i)}
		v, err := newVocabulary([]piece{{"<unk>", 0, unknown}, {"a", scores[0], normal}, {"aa", scores[1], normal}}, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.split("aaa"); !slices.Equal(got, []int32{1, 2}) {
			t.Errorf("scores %v: %v", scores, got)
		}
	}
}

func TestWhichPiecesWin(t *testing.T) {
	for what, c := range map[string]struct {
		pieces []piece // after the unknown one
		text   string
		want   []int32
	}{
		"a piece that users defined counts as the best one, byte by byte": {
			[]piece{{"a", -1, normal}, {"b", -3, normal}, {"c", -3, normal}, {"bc", -90, userDefined}}, "bc", []int32{4},
		},
		"its own score does not matter": {
			[]piece{{"a", -1, normal}, {"abc", -2, normal}, {"bc", 0, userDefined}}, "abc", []int32{2},
		},
		"a piece that is not used is not found":  {[]piece{{"a", -1, normal}, {"b", -1, normal}, {"ab", -1, unused}}, "ab", []int32{1, 2}},
		"an unknown character is worse than all": {[]piece{{"a", 5, normal}, {"ab", -5, normal}}, "ab", []int32{2}},
		"but there is a way through it":          {[]piece{{"a", 5, normal}, {"ab", -5, normal}}, "abb", []int32{2, 0}},
	} {
		v, err := newVocabulary(append([]piece{{"<unk>", 0, unknown}}, c.pieces...), 0, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := v.split(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

func TestAPieceThatUsersDefinedPassesUnchanged(t *testing.T) {
	n := normaliser{squeeze: true, escape: true, dummyPrefix: true}
	n.keep([]string{"x  y", "x"})
	if got := n.normalise("  x  y  z "); got != "▁x▁▁y▁z" {
		t.Errorf("%q", got)
	}
}
