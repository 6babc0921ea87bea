package umt5

import "strings"

// space is how a space is written in pieces.
const space = "▁"

// normaliser prepares a text for splitting, as SentencePiece's files say.
type normaliser struct {
	table charsmap
	// dummyPrefix puts a space before the text; squeeze makes one of several spaces, and none of
	// those at the ends; escape writes spaces as they are in pieces.
	dummyPrefix, squeeze, escape bool
	// whole are pieces that pass unchanged, by their first byte.
	whole map[byte][]string
}

// keep lets pieces pass unchanged.
func (n *normaliser) keep(pieces []string) {
	n.whole = map[byte][]string{}
	for _, p := range pieces {
		n.whole[p[0]] = append(n.whole[p[0]], p)
	}
}

// normalise gives the text whose pieces are sought.
func (n normaliser) normalise(text string) string {
	if n.squeeze {
		for text != "" {
			part, used := n.prefix(text)
			if part != " " {
				break
			}
			text = text[used:]
		}
	}
	if text == "" {
		return ""
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/2 + len(space))
	gap := " "
	if n.escape {
		gap = space
	}
	if n.dummyPrefix {
		b.WriteString(gap)
	}
	afterSpace := n.squeeze
	for text != "" {
		part, used := n.prefix(text)
		text = text[used:]
		for afterSpace && strings.HasPrefix(part, " ") {
			part = part[1:]
		}
		if part != "" {
			b.WriteString(strings.ReplaceAll(part, " ", gap))
			afterSpace = strings.HasSuffix(part, " ")
		}
		afterSpace = afterSpace && n.squeeze
	}
	out := b.String()
	for n.squeeze && strings.HasSuffix(out, gap) {
		out = out[:len(out)-len(gap)]
	}
	return out
}

// prefix is what the text begins with becomes, and how many bytes it is.
func (n normaliser) prefix(text string) (string, int) {
	longest := ""
	for _, w := range n.whole[text[0]] {
		if len(w) > len(longest) && strings.HasPrefix(text, w) {
			longest = w
		}
	}
	if longest != "" {
		return longest, len(longest)
	}
	return n.table.prefix(text)
}
