package openapi

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var specYAML string

// YAML is the description as it is served at /openapi.yaml.
func YAML() string { return specYAML }

// JSON is the same description as JSON. It fails only when the embedded file is broken, which its test forbids.
func JSON() ([]byte, error) {
	var tree any
	if err := yaml.Unmarshal([]byte(specYAML), &tree); err != nil {
		return nil, fmt.Errorf("openapi: read the embedded description: %w", err)
	}
	text, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("openapi: write the description as JSON: %w", err)
	}
	return text, nil
}
