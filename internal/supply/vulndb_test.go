package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestVulnDBHasEveryModuleOfEveryAdvisory writes a database of two advisories, one of which is about two modules.
func TestVulnDBHasEveryModuleOfEveryAdvisory(t *testing.T) {
	source, out := t.TempDir(), filepath.Join(t.TempDir(), "db")
	osv := filepath.Join(source, "data", "osv")
	if err := os.MkdirAll(osv, 0o755); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{
		"GO-2026-0001": `{"id":"GO-2026-0001","modified":"2026-01-02T03:04:05Z","aliases":["CVE-1"],"affected":[{"package":{"name":"example.com/a"}},{"package":{"name":"example.com/b"}},{"package":{"name":"example.com/a"}}],"details":"kept"}`,
		"GO-2026-0002": `{"id":"GO-2026-0002","modified":"0001-01-01T00:00:00Z","affected":[{"package":{"name":"stdlib"}}]}`,
	}
	for id, text := range texts {
		if err := os.WriteFile(filepath.Join(osv, id+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := vulnDB(source, out); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	var modules []indexedModule
	text, err := os.ReadFile(filepath.Join(out, "index", "modules.json"))
	if err == nil {
		err = json.Unmarshal(text, &modules)
	}
	if err != nil || len(modules) != 3 || modules[0].Path != "example.com/a" || len(modules[0].Vulns) != 1 || modules[1].Vulns[0].ID != "GO-2026-0001" || modules[2].Path != "stdlib" {
		t.Errorf("%s, %v", text, err)
	}
	for id, want := range texts {
		if got, err := os.ReadFile(filepath.Join(out, "ID", id+".json")); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", id, got, err)
		}
	}
	for _, name := range []string{"db", "vulns"} {
		if text, err := os.ReadFile(filepath.Join(out, "index", name+".json")); err != nil || !json.Valid(text) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	if _, err := vulnDB(t.TempDir(), out); !errors.Is(err, errNoAdvisories) {
		t.Errorf("of nothing: %v", err)
	}
	if err := os.WriteFile(filepath.Join(osv, "GO-2026-0003.json"), []byte(`{"id":"GO-2026-0004"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := vulnDB(source, out); err == nil {
		t.Error("an advisory under another's name was taken")
	}
}
