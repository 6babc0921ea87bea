package umt5

import "unicode/utf8"

// arrival is the best way known to reach a place of a text.
type arrival struct {
	id    int32
	score float32
	from  int // -1: none yet
}

// split finds the likeliest pieces of a normalised text. Sums are rounded to float32 at every
// place, and of equal ones the first found stays, as SentencePiece does.
func (v *vocabulary) split(text string) []int32 {
	best := make([]arrival, len(text)+1)
	for i := range best {
		best[i].from = -1
	}
	best[0].from = 0
	for at := 0; at < len(text); {
		_, character := utf8.DecodeRuneInString(text[at:])
		v.extend(best, text, at, character)
		at += character
	}
	return v.trace(best, text)
}

// extend follows every piece that begins at a place. A character that no piece is has one of its own.
func (v *vocabulary) extend(best []arrival, text string, at, character int) {
	here := float64(best[at].score)
	single := false
	for end := at; end < len(text) && end-at < v.longest; {
		_, n := utf8.DecodeRuneInString(text[end:])
		end += n
		id, ok := v.byText[text[at:end]]
		if !ok || v.pieces[id].kind == unused {
			continue
		}
		score := float64(v.pieces[id].score)
		if v.pieces[id].kind == userDefined { // its own score counts for nothing
			score = float64(float32(end-at)*v.high) - 0.1
		}
		offer(&best[end], arrival{id, float32(score + here), at})
		single = single || end-at == character
	}
	if !single {
		offer(&best[at+character], arrival{v.unk, v.unknownScore + best[at].score, at})
	}
}

// offer keeps the better of two ways.
func offer(have *arrival, a arrival) {
	if have.from < 0 || a.score > have.score {
		*have = a
	}
}

// trace walks back from the end. Neighbours without a piece become one, or the pieces of their bytes.
func (v *vocabulary) trace(best []arrival, text string) []int32 {
	var back []int32
	unknownAfter := false
	for at := len(text); at > 0; at = best[at].from {
		a := best[at]
		switch {
		case a.id != v.unk:
			back = append(back, a.id)
		case v.bytes != nil:
			for i := at - 1; i >= a.from; i-- {
				back = append(back, v.bytes[text[i]])
			}
		case !unknownAfter:
			back = append(back, v.unk)
		}
		unknownAfter = a.id == v.unk
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}
