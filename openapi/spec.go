package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var specYAML string

// YAML is the description as it is served at /openapi.yaml.
func YAML() string { return specYAML }

// JSON is the same description as JSON, in the same order, so that a page drawn from it reads like the file. It fails only when the
// embedded file is broken, which its test forbids.
func JSON() ([]byte, error) {
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(specYAML), &root); err != nil {
		return nil, fmt.Errorf("openapi: read the embedded description: %w", err)
	}
	var out bytes.Buffer
	if err := writeJSON(&out, &root); err != nil {
		return nil, fmt.Errorf("openapi: write the description as JSON: %w", err)
	}
	return out.Bytes(), nil
}

// writeJSON keeps the order of mappings, which a Go map would lose.
func writeJSON(out *bytes.Buffer, node *yaml.Node) error {
	switch node.Kind {
	case yaml.DocumentNode:
		return writeJSON(out, node.Content[0])
	case yaml.AliasNode:
		return writeJSON(out, node.Alias)
	case yaml.MappingNode, yaml.SequenceNode:
		return writeCollection(out, node)
	default:
		var value any
		if err := node.Decode(&value); err != nil {
			return err
		}
		text, err := json.Marshal(value)
		out.Write(text)
		return err
	}
}

func writeCollection(out *bytes.Buffer, node *yaml.Node) error {
	brackets, isMap := "[]", node.Kind == yaml.MappingNode
	if isMap {
		brackets = "{}"
	}
	out.WriteByte(brackets[0])
	for i, child := range node.Content {
		switch {
		case isMap && i%2 == 1:
			out.WriteByte(':')
		case i > 0:
			out.WriteByte(',')
		}
		if isMap && i%2 == 0 {
			key, err := json.Marshal(child.Value)
			if err != nil {
				return err
			}
			out.Write(key)
			continue
		}
		if err := writeJSON(out, child); err != nil {
			return err
		}
	}
	out.WriteByte(brackets[1])
	return nil
}
