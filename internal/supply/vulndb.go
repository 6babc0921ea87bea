package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// advisory is what the indexes need of an entry; the entry itself is copied as it is.
type advisory struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
	} `json:"affected"`
}

// The indexes of a database of vulnerabilities as govulncheck reads it: https://go.dev/doc/security/vuln/database.
type (
	indexedModule struct {
		Path  string       `json:"path"`
		Vulns []indexedFix `json:"vulns"`
	}
	indexedFix struct {
		ID       string    `json:"id"`
		Modified time.Time `json:"modified"`
	}
	indexedVuln struct {
		ID       string    `json:"id"`
		Modified time.Time `json:"modified"`
		Aliases  []string  `json:"aliases,omitempty"`
	}
)

// errNoAdvisories says that a folder is no source of golang.org/x/vulndb.
var errNoAdvisories = errors.New("no advisories under data/osv")

// vulnDB writes the database out of the source of golang.org/x/vulndb, for machines that reach modules and not the database. It answers how many entries it has.
func vulnDB(source, out string) (int, error) {
	files, err := filepath.Glob(filepath.Join(source, "data", "osv", "GO-*.json"))
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, fmt.Errorf("%s: %w", source, errNoAdvisories)
	}
	for _, dir := range []string{"ID", "index"} {
		if err := os.MkdirAll(filepath.Join(out, dir), 0o755); err != nil {
			return 0, err
		}
	}
	modules, vulns := map[string][]indexedFix{}, make([]indexedVuln, 0, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		var a advisory
		if err := json.Unmarshal(text, &a); err != nil || a.ID+".json" != filepath.Base(file) {
			return 0, fmt.Errorf("%s is no advisory of its name: %w", file, err)
		}
		if err := os.WriteFile(filepath.Join(out, "ID", a.ID+".json"), text, 0o600); err != nil {
			return 0, err
		}
		vulns = append(vulns, indexedVuln{a.ID, a.Modified, a.Aliases})
		for _, affected := range a.Affected {
			fix, name := indexedFix{a.ID, a.Modified}, affected.Package.Name
			if !slices.Contains(modules[name], fix) {
				modules[name] = append(modules[name], fix)
			}
		}
	}
	index := make([]indexedModule, 0, len(modules))
	for _, path := range slices.SortedFunc(maps.Keys(modules), strings.Compare) {
		index = append(index, indexedModule{path, modules[path]})
	}
	for name, content := range map[string]any{"db": map[string]time.Time{"modified": time.Now().UTC()}, "modules": index, "vulns": vulns} {
		text, err := json.Marshal(content)
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(filepath.Join(out, "index", name+".json"), text, 0o600); err != nil {
			return 0, err
		}
	}
	return len(files), nil
}
