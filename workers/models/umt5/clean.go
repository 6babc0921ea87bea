package umt5

import (
	"html"
	"regexp"
	"strings"
)

// escape is what tells a terminal to change colours.
var escape = regexp.MustCompile("\x1b\\[[0-9;]*[a-zA-Z]") //nolint:gochecknoglobals // constant

// Clean prepares a prompt as Wan's pipelines do before the tokenizer: entities of HTML become
// characters, also where they were escaped twice; curved quotes become straight; what controls
// terminals or text direction goes; any white space becomes one space, and none is left at the ends.
// Text that was decoded by a wrong table is not repaired.
func Clean(text string) string {
	if !strings.Contains(text, "<") {
		text = html.UnescapeString(text)
	}
	text = escape.ReplaceAllString(text, "")
	text = strings.Map(plain, text)
	text = html.UnescapeString(html.UnescapeString(text))
	return strings.Join(strings.Fields(text), " ")
}

// plain straightens a quote, and drops a character that nobody sees.
func plain(r rune) rune {
	switch {
	case r == 0x2bc || r >= 0x2018 && r <= 0x201b:
		return '\''
	case r >= 0x201c && r <= 0x201f:
		return '"'
	case r < 0x20 && r != '\t' && r != '\n' && r != '\r' && r != '\f', r == 0x7f, r >= 0x206a && r <= 0x206f, r == 0xfeff, r >= 0xfff9 && r <= 0xfffc:
		return -1
	default:
		return r
	}
}
