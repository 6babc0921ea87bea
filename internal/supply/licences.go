package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const licencesHead = `# Licences

The modules that the program is linked from, and those that only its tests use, with the licences in their own files. Written by ` + "`make licences`" + `; a test
holds it to go.mod. Versions stand in go.mod, and in the SBOM of a build (` + "`make sbom`" + `). ffmpeg, libvpx and libopus come with the system and are not part of the program.

| module | licence | used by |
|---|---|---|
`

// unknown is the licence of a module whose file is not understood. The test lets none through.
const unknown = "unknown"

// licences writes docs/licences.md.
func licences(ctx context.Context) (string, error) {
	linked, err := modulesOf(ctx, "./cmd/telefuser")
	if err != nil {
		return "", err
	}
	direct, err := modules(ctx, "-m", "-f", "{{if not (or .Indirect .Main)}}{{.Path}}\t{{.Dir}}{{end}}", "all")
	if err != nil {
		return "", err
	}
	use := map[string]string{}
	for path := range direct {
		use[path] = "tests"
	}
	for path, dir := range linked {
		use[path], direct[path] = "the program", dir
	}
	paths := make([]string, 0, len(use))
	for path := range use {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	text := licencesHead
	for _, path := range paths {
		text += fmt.Sprintf("| %s | %s | %s |\n", path, licenceOf(direct[path]), use[path])
	}
	return text, nil
}

// modulesOf lists the modules that a command is linked from on Linux, by path, with their folders.
func modulesOf(ctx context.Context, pkg string) (map[string]string, error) {
	return modules(ctx, "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", pkg)
}

// modules runs go list for the program's main platform, at the root of the module.
func modules(ctx context.Context, args ...string) (map[string]string, error) {
	root, err := output(ctx, ".", "env", "GOMOD")
	if err != nil {
		return nil, err
	}
	text, err := output(ctx, filepath.Dir(strings.TrimSpace(root)), append([]string{"list"}, args...)...)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			found[path] = dir
		}
	}
	return found, nil
}

func output(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args[:1], " "), err)
	}
	return string(out), nil
}

// licenceOf reads the licence file of a module's folder and answers its SPDX name, several with AND.
func licenceOf(dir string) string {
	entries, err := os.ReadDir(dir)
	if dir == "" || err != nil {
		return unknown
	}
	var names []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		for _, spdx := range recognise(string(text)) {
			if !slices.Contains(names, spdx) {
				names = append(names, spdx)
			}
		}
	}
	if len(names) == 0 {
		return unknown
	}
	slices.Sort(names)
	return strings.Join(names, " AND ")
}

// recognise knows licences by sentences of theirs that no other has.
func recognise(text string) []string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	has := func(s string) bool { return strings.Contains(text, s) }
	var names []string
	add := func(is bool, spdx string) {
		if is {
			names = append(names, spdx)
		}
	}
	add(has("apache license") && has("version 2.0"), "Apache-2.0")
	add(has("permission is hereby granted, free of charge, to any person obtaining a copy"), "MIT")
	bsd := has("redistributions of source code must retain")
	add(bsd && has("neither the name"), "BSD-3-Clause")
	add(bsd && !has("neither the name"), "BSD-2-Clause")
	add(has("permission to use, copy, modify, and/or distribute this software") || has("permission to use, copy, modify, and distribute this software for any"), "ISC")
	add(has("mozilla public license") && has("2.0"), "MPL-2.0")
	add(has("gnu general public license") && !has("mozilla public license"), "GPL")
	add(has("cc0 1.0 universal"), "CC0-1.0")
	add(has("this is free and unencumbered software"), "Unlicense")
	return names
}
