package pipeline

import "strings"

// worldWords are the words of a model that has a table of texts: each row's own, and others that mean a row. The row after the last one stands for none.
type worldWords struct {
	rows  []string
	means map[string]string
}

// row is that of the first word of a prompt that names one.
func (w *worldWords) row(prompt string) int {
	for word := range strings.FieldsFuncSeq(strings.ToLower(prompt), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if of, ok := w.means[word]; ok {
			word = of
		}
		for i, name := range w.rows {
			if word == name {
				return i
			}
		}
	}
	return len(w.rows)
}

// none is the row of no word.
func (w *worldWords) none() int { return len(w.rows) }

// tinyWords are the looks of tiny-world's lands, in the order of its table.
func tinyWords() *worldWords {
	return &worldWords{
		rows: []string{"meadow", "desert", "arctic", "autumn", "dusk", "alien", "volcano", "jungle"},
		means: map[string]string{
			"grass": "meadow", "green": "meadow", "field": "meadow", "valley": "meadow", "spring": "meadow", "hill": "meadow", "hills": "meadow",
			"sand": "desert", "dunes": "desert", "dune": "desert", "dry": "desert", "savanna": "desert",
			"snow": "arctic", "ice": "arctic", "winter": "arctic", "snowy": "arctic", "polar": "arctic", "frozen": "arctic",
			"fall": "autumn", "october": "autumn", "evening": "dusk", "sunset": "dusk", "night": "dusk", "twilight": "dusk",
			"planet": "alien", "strange": "alien", "purple": "alien", "lava": "volcano", "volcanic": "volcano", "ash": "volcano",
			"forest": "jungle", "rainforest": "jungle", "tropical": "jungle", "trees": "jungle",
		},
	}
}
