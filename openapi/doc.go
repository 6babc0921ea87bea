// Package openapi holds the description of the HTTP surface, openapi.yaml, and the Go types of its answers, generated from it.
//
// It promises that file, types and live answers agree: one test holds the types to the file, and every answer in the suites of the room
// api is checked against it. It knows no server, no job and no store.
package openapi

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 --config oapi-codegen.yaml openapi.yaml
