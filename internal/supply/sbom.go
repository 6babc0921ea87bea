package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// The parts of a CycloneDX document that are filled.
type (
	document struct {
		Format      string      `json:"bomFormat"`
		SpecVersion string      `json:"specVersion"`
		Version     int         `json:"version"`
		Metadata    metadata    `json:"metadata"`
		Components  []component `json:"components"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref,omitempty"`
		Name       string     `json:"name"`
		Version    string     `json:"version,omitempty"`
		PURL       string     `json:"purl,omitempty"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Licences   []licence  `json:"licenses,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	licence struct {
		Expression string `json:"expression"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// sbom writes what a built program says that it was linked from, with the sums that go.sum has.
func sbom(ctx context.Context, binary string, out io.Writer) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read %s: %w", binary, err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	dirs, err := modulesOf(ctx, "./cmd/telefuser")
	if err != nil {
		return err
	}
	doc := document{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Components: []component{}}
	doc.Metadata.Component = component{
		Type: "application", Ref: "telefuser", Name: "telefuser", Version: info.Main.Version, Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
		Licences: []licence{{"Apache-2.0"}}, Properties: []property{{"go", info.GoVersion}},
	}
	doc.Components = append(doc.Components, component{Type: "library", Ref: "go-std", Name: "std", Version: info.GoVersion, PURL: "pkg:golang/std@" + info.GoVersion[2:], Licences: []licence{{"BSD-3-Clause"}}})
	for _, m := range info.Deps {
		doc.Components = append(doc.Components, moduleComponent(m, dirs[m.Path]))
	}
	e := json.NewEncoder(out)
	e.SetIndent("", " ")
	return e.Encode(doc)
}

func moduleComponent(m *debug.Module, dir string) component {
	for m.Replace != nil {
		m = m.Replace
	}
	ref := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: "library", Ref: ref, Name: m.Path, Version: m.Version, PURL: ref, Properties: []property{{"go.sum", m.Sum}}}
	if name := licenceOf(dir); name != unknown {
		c.Licences = []licence{{name}}
	}
	return c
}
