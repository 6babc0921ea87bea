package config

import (
	"fmt"
	"strings"
)

// DocRow is the setting's row in docs/configuration.md.
func DocRow(f Field) string {
	def := f.Default
	if def == "" {
		def = " "
	}
	return fmt.Sprintf("| `%s` | `--%s` | `%s` | `%s` | %s |", f.Key, f.Flag, f.Env, def, f.Doc)
}

// Markdown is the table of docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| key | flag | variable | default | meaning |\n|---|---|---|---|---|\n")
	for _, f := range Fields() {
		b.WriteString(DocRow(f) + "\n")
	}
	return b.String()
}
