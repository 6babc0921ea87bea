package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLicencesAreListed holds docs/licences.md to go.mod: every direct module stands in it, and nothing in it is unknown or binds the program to its own licence.
func TestLicencesAreListed(t *testing.T) {
	want, err := licences(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "docs", "licences.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/licences.md is not what `make licences` writes")
	}
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		direct++
		if !strings.Contains(string(got), "| "+m[1]+" | ") {
			t.Errorf("%s is not listed", m[1])
		}
	}
	if direct < 20 {
		t.Errorf("only %d direct modules were found", direct)
	}
	for line := range strings.Lines(string(got)) {
		if strings.Contains(line, "| "+unknown+" |") || strings.Contains(line, "GPL") {
			t.Errorf("look at this licence: %s", line)
		}
	}
}

func TestLicencesAreRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"Apache License\n Version 2.0, January 2004":                                             "Apache-2.0",
		"Permission is hereby granted, free of charge, to any person\nobtaining a copy":          "MIT",
		"Redistributions of source code must retain the above. Neither the name of":              "BSD-3-Clause",
		"Redistributions of source code must retain the above.":                                  "BSD-2-Clause",
		"Permission to use, copy, modify, and/or distribute this software for any purpose":       "ISC",
		"Mozilla Public License, version 2.0; GNU General Public License as a secondary license": "MPL-2.0",
		"GNU GENERAL PUBLIC LICENSE Version 3":                                                   "GPL",
		"All rights reserved.":                                                                   "",
	} {
		if got := strings.Join(recognise(text), " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestSBOM reads the document of this very test program.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"sbom", self}, &out); err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || doc.SpecVersion != "1.6" || len(doc.Metadata.Component.Hashes) != 1 || len(doc.Metadata.Component.Hashes[0].Content) != 64 || doc.Components[0].Name != "std" {
		t.Errorf("%s", out.String())
	}
	if err := run(t.Context(), []string{"sbom", os.Args[0] + ".missing"}, &out); err == nil {
		t.Error("a program that is not there was read")
	}
	if err := run(t.Context(), nil, &out); err == nil {
		t.Error("nothing was asked for and nothing refused")
	}
}
