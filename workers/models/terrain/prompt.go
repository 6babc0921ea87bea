package terrain

import (
	"strings"
	"unicode"
)

// country is what a prompt means: a biome bent by the words beside it, and an hour.
type country struct {
	biome
	hour float64
}

// readPrompt finds the words that it knows and lets the rest of the prompt, with the seed, decide the variations.
func readPrompt(prompt string, d *dice) country {
	text := promptText(prompt)
	c := country{biome: temperate(), hour: -1}
	for _, candidate := range biomes() {
		if anyWord(text, candidate.words) {
			c.biome = candidate
			break
		}
	}
	c.vary(d)
	c.bend(text)
	if c.hour < 0 {
		c.hour = c.look.hour
	}
	hours := []float64{8.2, 8.8, 9.6, 10.2, 14.6, 15.4, 16}
	if pick := hours[d.next()%uint64(len(hours))]; c.hour < 0 {
		c.hour = pick
	}
	return c
}

// promptText lowers a prompt and sets its words apart by single spaces, with one before and after.
func promptText(prompt string) string {
	words := strings.FieldsFunc(strings.ToLower(prompt), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return " " + strings.Join(words, " ") + " "
}

// anyWord reports whether text has one of words, alone or with a usual ending. Signs of scripts without spaces are found anywhere.
func anyWord(text string, words []string) bool {
	for _, word := range words {
		if word[0] >= 0x80 {
			if strings.Contains(text, word) {
				return true
			}
			continue
		}
		for _, ending := range wordEndings() {
			if strings.Contains(text, " "+word+ending+" ") {
				return true
			}
		}
	}
	return false
}

func wordEndings() []string {
	return []string{"", "s", "es", "y", "n", "ed", "ing", "ous", "o", "oes", "ic", "land", "lands", "side", "scape", "scapes", "capped", "fall", "line"}
}

// vary makes every prompt and seed a place of its own within its biome.
func (c *country) vary(d *dice) {
	s, k := &c.shape, &c.look
	scale := func(value *float64, low, high float64) { *value = float64(*value * d.between(low, high)) }
	scale(&s.wave, 0.8, 1.25)
	scale(&s.hills, 0.75, 1.3)
	scale(&s.mountains, 0.8, 1.2)
	scale(&s.ridge, 0.7, 1.3)
	scale(&s.erosion, 0.7, 1.4)
	s.ridge = min(s.ridge, 1)
	s.peaks += d.between(-0.15, 0.15)
	s.land += d.between(-6, 10)
	scale(&k.clouds, 0.6, 1.4)
	scale(&k.haze, 0.8, 1.25)
	k.forest = clamp(float64(k.forest*d.between(0.7, 1.3)), 0, 1)
	k.warmth += d.between(-0.15, 0.15)
	tint := func(value *colour) {
		*value = value.times(colour{d.between(0.92, 1.08), d.between(0.94, 1.06), d.between(0.92, 1.08)})
	}
	tint(&k.grass)
	tint(&k.dry)
	tint(&k.lush)
	tint(&k.rock)
	tint(&k.deep)
	tint(&k.shallow)
}

// modifier is one group of words and what it does.
type modifier struct {
	words []string
	bend  func(c *country)
}

func (c *country) bend(text string) {
	for _, m := range modifiers() {
		if anyWord(text, m.words) {
			m.bend(c)
		}
	}
}

// modifiers bend any biome. Later ones see what earlier ones did.
func modifiers() []modifier {
	hour := func(at float64) func(*country) { return func(c *country) { c.hour = at } }
	return []modifier{
		{[]string{"mountain", "alps", "peak", "summit", "山"}, func(c *country) {
			c.shape.peaks = max(c.shape.peaks, 0.3)
			c.shape.mountains = max(c.shape.mountains, 340)
		}},
		{[]string{"forest", "wood", "pine", "森林"}, func(c *country) {
			c.look.forest = max(c.look.forest, 0.85)
			c.look.canopy = max(c.look.canopy, 4.5)
		}},
		{[]string{"flat", "plain", "gentle", "calm"}, func(c *country) {
			c.shape.mountains = float64(c.shape.mountains * 0.6)
			c.shape.hills = float64(c.shape.hills * 0.6)
		}},
		{[]string{"island", "archipelago", "岛"}, func(c *country) { c.shape.land = min(c.shape.land, -24) }},
		{[]string{"lake", "river", "fjord", "lagoon", "湖"}, func(c *country) { c.shape.land = min(c.shape.land, 4) }},
		{[]string{"dramatic", "epic", "rugged", "jagged", "steep"}, func(c *country) {
			c.shape.ridge = min(c.shape.ridge+0.25, 1)
			c.shape.mountains = float64(c.shape.mountains * 1.2)
		}},
		{[]string{"snow", "雪"}, func(c *country) { c.look.snowLine = min(c.look.snowLine, 60) }},
		{[]string{"sunset", "golden hour", "日落", "夕阳"}, hour(18.1)},
		{[]string{"dusk", "twilight", "evening", "黄昏"}, hour(18.9)},
		{[]string{"dawn", "sunrise", "日出", "黎明"}, hour(6.3)},
		{[]string{"morning"}, hour(8)},
		{[]string{"noon", "midday"}, hour(12)},
		{[]string{"afternoon"}, hour(15.8)},
		{[]string{"night", "midnight", "moon", "star", "夜", "星"}, hour(0)},
		{[]string{"clear", "sun", "sunny", "cloudless", "blue sky", "晴"}, func(c *country) { c.look.clouds = min(c.look.clouds, 0.18) }},
		{[]string{"cloud", "云"}, func(c *country) { c.look.clouds = max(c.look.clouds, 0.62) }},
		{[]string{"overcast", "storm", "rain", "thunder", "gloomy", "moody", "雨", "暴"}, func(c *country) {
			c.look.clouds, c.look.ripple = 1, 1
			c.look.haze = float64(c.look.haze * 1.5)
		}},
		{[]string{"fog", "foggy", "mist", "haze", "hazy", "雾"}, func(c *country) {
			c.look.haze, c.look.mist = float64(c.look.haze*2.4), max(c.look.mist, 0.8)
		}},
	}
}
