package openapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"

	"telefuser/openapi"
)

func TestTheFileIsValidOpenAPI31(t *testing.T) {
	doc := load(t)
	if doc.OpenAPI != "3.1.0" {
		t.Fatalf("openapi is %q, want 3.1.0", doc.OpenAPI)
	}
	seen := map[string]string{}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			if op.OperationID == "" || op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s lacks an operation id, a summary or its one tag", name)
			}
			if other := seen[op.OperationID]; other != "" {
				t.Errorf("%s and %s share the operation id %s", name, other, op.OperationID)
			}
			seen[op.OperationID] = name
			if op.Responses.Default() == nil {
				t.Errorf("%s does not say how errors look", name)
			}
		}
	}
}

// TestTypesHoldToTheFile compares the generated structs with the schemas: names, and which keys are always there.
func TestTypesHoldToTheFile(t *testing.T) {
	schemas := load(t).Components.Schemas
	for _, v := range []any{openapi.Video{}, openapi.VideoError{}, openapi.VideoList{}, openapi.VideoDeleted{}, openapi.Character{}, openapi.Model{},
		openapi.ModelList{}, openapi.File{}, openapi.FileList{}, openapi.FileDeleted{}, openapi.Health{}, openapi.Ready{}, openapi.ServiceStatus{},
		openapi.PoolMember{}, openapi.ServiceMetadata{}, openapi.TaskContract{}, openapi.ParameterContract{}, openapi.PoolSummary{},
		openapi.MetricsJSON{}, openapi.TaskCounts{}, openapi.QueueCounts{}, openapi.Error{}, openapi.ErrorBody{},
		openapi.WebhookEndpoint{}, openapi.WebhookEndpointWithSecret{}, openapi.WebhookEndpointList{}, openapi.WebhookEndpointDeleted{},
		openapi.WebhookEndpointTest{}, openapi.WebhookEventTypeList{},
		openapi.Session{}, openapi.SessionFacts{}, openapi.SessionList{}, openapi.SessionTicket{}, openapi.SessionToken{}, openapi.SessionEnded{},
		openapi.StreamHealth{}, openapi.StreamWorker{}, openapi.SessionCapacity{}, openapi.Environment{}} {
		typ := reflect.TypeOf(v)
		ref := schemas[typ.Name()]
		if ref == nil {
			t.Errorf("the file has no schema %s", typ.Name())
			continue
		}
		always, all := fields(typ)
		var properties []string
		for name := range ref.Value.Properties {
			properties = append(properties, name)
		}
		slices.Sort(properties)
		required := slices.Sorted(slices.Values(ref.Value.Required))
		if !slices.Equal(all, properties) {
			t.Errorf("%s: the type has %v, the file has %v", typ.Name(), all, properties)
		}
		if !slices.Equal(always, required) {
			t.Errorf("%s: the type always writes %v, the file requires %v", typ.Name(), always, required)
		}
	}
}

func TestJSONSaysTheSame(t *testing.T) {
	text, err := openapi.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var tree struct {
		OpenAPI string         `json:"openapi"`
		Paths   map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	if tree.OpenAPI != "3.1.0" || len(tree.Paths) != load(t).Paths.Len() {
		t.Errorf("the JSON has version %q and %d paths", tree.OpenAPI, len(tree.Paths))
	}
	var fromYAML, fromJSON any
	if err := yaml.Unmarshal([]byte(openapi.YAML()), &fromYAML); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(fromYAML)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal(plain, &fromYAML), json.Unmarshal(text, &fromJSON)); err != nil || !reflect.DeepEqual(fromYAML, fromJSON) {
		t.Errorf("the JSON says something else than the file: %v", err)
	}
	if first, last := strings.Index(string(text), `"/v1/videos"`), strings.Index(string(text), `"/docs"`); first < 0 || first > last {
		t.Error("the order of the file is lost")
	}
}

func load(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(openapi.YAML()))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// fields lists the JSON names of a struct, sorted: those that are always written, and all.
func fields(typ reflect.Type) (always, all []string) {
	for i := range typ.NumField() {
		name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		all = append(all, name)
		if !strings.Contains(options, "omitempty") {
			always = append(always, name)
		}
	}
	slices.Sort(always)
	slices.Sort(all)
	return always, all
}
