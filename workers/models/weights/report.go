package weights

import (
	"fmt"
	"strings"
)

// Report is how a checkpoint differs from what a model wants. Names are the model's own where
// it wants them, and the files' where it does not.
type Report struct {
	Missing   []string    `json:"missing,omitempty"`
	Surplus   []string    `json:"surplus,omitempty"`
	Misshapen []Misshapen `json:"misshapen,omitempty"`
	Mistyped  []Mistyped  `json:"mistyped,omitempty"`
}

// Misshapen is a tensor of another shape than is wanted.
type Misshapen struct {
	Name string `json:"name"`
	Want []int  `json:"want"`
	Got  []int  `json:"got"`
}

// Mistyped is a tensor of a type that a set cannot give.
type Mistyped struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
}

// OK says that nothing differs.
func (r Report) OK() bool { return len(r.Missing)+len(r.Surplus)+len(r.Misshapen)+len(r.Mistyped) == 0 }

// Lines has one sentence for every difference.
func (r Report) Lines() []string {
	var lines []string
	for _, n := range r.Missing {
		lines = append(lines, n+" is missing")
	}
	for _, m := range r.Misshapen {
		lines = append(lines, fmt.Sprintf("%s is %v, and %v is wanted", m.Name, m.Got, m.Want))
	}
	for _, m := range r.Mistyped {
		lines = append(lines, fmt.Sprintf("%s is of %s; F32, BF16 and F16 are read", m.Name, m.Type))
	}
	for _, n := range r.Surplus {
		lines = append(lines, n+" is surplus")
	}
	return lines
}

// String counts the differences and names the first few.
func (r Report) String() string {
	return fmt.Sprintf("%d missing, %d misshapen, %d mistyped, %d surplus: %s",
		len(r.Missing), len(r.Misshapen), len(r.Mistyped), len(r.Surplus), firstOf(r.Lines()))
}

// firstOf names the first few and counts the rest.
func firstOf(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
