package console

import (
	"encoding/json"
	"fmt"
	"io/fs"
)

// manifest ties the built files to the sources that they were made of: SHA-256 in hexadecimal by path.
type manifest struct {
	// Sources are paths from this folder, Files from dist.
	Sources map[string]string `json:"sources"`
	Files   map[string]string `json:"files"`
}

func readManifest(files fs.FS) (manifest, error) {
	var m manifest
	text, err := fs.ReadFile(files, "dist/manifest.json")
	if err != nil {
		return m, fmt.Errorf("console: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("console: manifest: %w", err)
	}
	for name, sum := range m.Files {
		if len(sum) != 64 {
			return m, fmt.Errorf("console: manifest: %s has no SHA-256", name)
		}
	}
	if _, ok := m.Files["index.html"]; !ok {
		return m, fmt.Errorf("console: manifest: no page; run make console")
	}
	return m, nil
}
