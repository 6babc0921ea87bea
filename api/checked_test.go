package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"telefuser/openapi"
)

// strictSpec is the description with one change: objects of answers may have no key that it does not name.
var strictSpec = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(openapi.YAML()))
	if err != nil {
		return nil, err
	}
	no := false
	for name, ref := range doc.Components.Schemas {
		if ref.Value.AdditionalProperties.Has == nil && ref.Value.AdditionalProperties.Schema == nil && len(ref.Value.Properties) > 0 && !strings.HasPrefix(name, "Create") {
			ref.Value.AdditionalProperties.Has = &no
		}
	}
	return doc, nil
})

// checkedTransport holds every answer of a suite to openapi.yaml.
type checkedTransport struct {
	t    testing.TB
	base string
	doc  *openapi3.T
	next http.RoundTripper
}

func checked(t testing.TB, base string) http.RoundTripper {
	t.Helper()
	doc, err := strictSpec()
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &checkedTransport{t: t, base: base, doc: doc, next: transport}
}

// RoundTrip sends the request on and complains where the answer is not what the file says.
func (c *checkedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(req)
	if err != nil || !strings.HasPrefix(req.URL.String(), c.base) {
		return res, err
	}
	mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if mediaType == "text/event-stream" || mediaType == "video/mp4" {
		return res, nil
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return res, err
	}
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	for _, fault := range faults(c.doc, req, res, body) {
		c.t.Errorf("%s %s -> %d: %s: %.300s", req.Method, req.URL.Path, res.StatusCode, fault, body)
	}
	return res, nil
}

// faults compares one answer with the description.
func faults(doc *openapi3.T, req *http.Request, res *http.Response, body []byte) []string {
	var out []string
	if res.Header.Get("X-Request-Id") == "" {
		out = append(out, "no x-request-id")
	}
	if req.Method == http.MethodHead || req.Method == http.MethodOptions || res.StatusCode == http.StatusNotModified || res.StatusCode == http.StatusNoContent {
		return out
	}
	response := doc.Components.Responses["Error"].Value
	if op := operation(doc, req.Method, req.URL.Path); op != nil {
		ref := op.Responses.Value(strconv.Itoa(res.StatusCode))
		if ref == nil && res.StatusCode < 400 {
			return append(out, "the file does not have this status")
		}
		if ref == nil {
			ref = op.Responses.Default()
		}
		response = ref.Value
	} else if res.StatusCode < 400 {
		return append(out, "the file does not have this route")
	}
	mediaType, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	content := response.Content[mediaType]
	if len(response.Content) > 0 && content == nil {
		return append(out, "the file does not have the content type "+mediaType)
	}
	if mediaType != "application/json" || content == nil || content.Schema == nil {
		return out
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return append(out, "no JSON: "+err.Error())
	}
	if err := content.Schema.Value.VisitJSON(value, openapi3.MultiErrors(), openapi3.EnableJSONSchema2020()); err != nil {
		out = append(out, err.Error())
	}
	return out
}

// operation finds the operation of a path; literal segments win over parameters.
func operation(doc *openapi3.T, method, path string) *openapi3.Operation {
	segments := strings.Split(path, "/")
	templates := doc.Paths.InMatchingOrder()
	slices.SortStableFunc(templates, func(a, b string) int { return strings.Count(a, "{") - strings.Count(b, "{") })
	for _, template := range templates {
		if matches(strings.Split(template, "/"), segments) {
			if op := doc.Paths.Value(template).GetOperation(method); op != nil {
				return op
			}
		}
	}
	return nil
}

func matches(template, segments []string) bool {
	if len(template) != len(segments) {
		return false
	}
	for i, part := range template {
		if part != segments[i] && !(strings.HasPrefix(part, "{") && segments[i] != "") {
			return false
		}
	}
	return true
}

// TestTheCheckFindsFaults breaks answers on purpose, so that the check of all the others can be believed.
func TestTheCheckFindsFaults(t *testing.T) {
	doc, err := strictSpec()
	if err != nil {
		t.Fatal(err)
	}
	video := `{"id":"v","object":"video","model":"m","status":"queued","progress":0,"created_at":1,"completed_at":null,"expires_at":null,"prompt":null,` +
		`"size":"1x1","seconds":"4","remixed_from_video_id":null,"error":null}`
	for name, c := range map[string]struct {
		body  string
		fault bool
	}{
		"right":          {video, false},
		"missing key":    {strings.Replace(video, `"completed_at":null,`, "", 1), true},
		"unknown key":    {strings.Replace(video, `"id"`, `"who":1,"id"`, 1), true},
		"unknown status": {strings.Replace(video, "queued", "processing", 1), true},
		"number":         {strings.Replace(video, `"seconds":"4"`, `"seconds":4`, 1), true},
		"wrong null":     {strings.Replace(video, `"id":"v"`, `"id":null`, 1), true},
		"error object":   {strings.Replace(video, `"error":null`, `"error":{"code":"a","message":"b"}`, 1), false},
		"wrong error":    {strings.Replace(video, `"error":null`, `"error":"a"`, 1), true},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x/v1/videos/video_1", nil)
		if err != nil {
			t.Fatal(err)
		}
		res := &http.Response{StatusCode: 200, Header: http.Header{"X-Request-Id": {"a"}, "Content-Type": {"application/json"}}}
		if found := faults(doc, req, res, []byte(c.body)); (len(found) > 0) != c.fault {
			t.Errorf("%s: faults %v, want some: %v", name, found, c.fault)
		}
	}
}
