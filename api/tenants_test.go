package api_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// safetyLong runs the tests of safety at the scale of their goals: make safety.
var safetyLong = os.Getenv("SAFETY_LONG") != ""

// foreignBodies are what operations with an id in their path are sent.
var foreignBodies = map[string]string{
	"remixVideo": `{"prompt":"a"}`, "createSessionToken": `{"identity":"spy"}`, "updateWebhookEndpoint": `{"name":"mine"}`, "rotateWebhookEndpointSecret": `{}`,
	"testWebhookEndpoint": `{"event_type":"video.completed"}`,
}

// idsInBodies are the operations that take an id elsewhere than in their path: a body or a query, with the place of the id.
var idsInBodies = map[string][]struct{ param, path, body string }{
	"createVideo":  {{"file_id", "", `{"prompt":"a","model":"terrain","input_reference":{"file_id":"%s"}}`}},
	"editVideo":    {{"video_id", "", `{"prompt":"a","video":{"id":"%s"}}`}},
	"extendVideo":  {{"video_id", "", `{"prompt":"a","video":{"id":"%s"},"seconds":"4"}`}},
	"listVideos":   {{"video_id", "?order=asc&after=%s", ""}},
	"listFiles":    {{"file_id", "?order=asc&after=%s", ""}},
	"listSessions": {{"session_id", "?after=%s", ""}},
	"createSession": {
		{"file_id", "", `{"identity":"me","image":{"file_id":"%s"}}`},
	},
	"listWebhookEndpoints": {{"webhook_endpoint_id", "?order=asc&after=%s", ""}},
	"listBatches":          {{"batch_id", "?order=asc&after=%s", ""}},
	"createBatch":          {{"batch file_id", "", `{"input_file_id":"%s","endpoint":"/v1/videos","completion_window":"24h"}`}},
}

// nobodysOperations reach nothing that belongs to a tenant by an id.
var nobodysOperations = []string{
	"createFile", "createCharacter", "createWebhookEndpoint", "listWebhookEventTypes", "listModels", "getModel", "getStreamHealth", "getHealth", "getHealthAlias", "getReady", "getStatus", "getMetadata",
	"getMetrics", "getMetricsAlias", "getMetricsJSON", "getOpenAPI", "getOpenAPIJSON", "getDocs", "getConsole", "getConsoleFile",
}

// TestEveryRouteHidesOtherTenants walks the description, so that no route can be forgotten: whatever takes an id answers another tenant's as it answers one that
// never was, to the byte of the body and the header, and changes nothing.
func TestEveryRouteHidesOtherTenants(t *testing.T) {
	var l live
	s, stage := newOutboundStack(t, withKeys, withSessions(t, &l))
	s.work(t, finisher{})
	l.work(t, 1, &liveEngine{})
	owner, rival := s.key(t, "acme"), s.key(t, "rival")
	theirs := s.belongings(t, owner, stage.URL("/hook"))
	never := map[string]string{}
	for param, id := range theirs {
		never[param] = another(id)
	}
	doc, err := strictSpec()
	if err != nil {
		t.Fatal(err)
	}
	routes := 0
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		for method, op := range doc.Paths.Value(path).Operations() {
			for _, c := range foreignCalls(t, path, op, theirs) {
				routes++
				mine, none := s.asStranger(t, method, c, rival, theirs), s.asStranger(t, method, c, rival, never)
				if mine.status != none.status || !bytes.Equal(mine.body, none.body) || !maps.EqualFunc(mine.header, none.header, slices.Equal) {
					t.Errorf("%s %s: another's is %d %s %v, one that never was %d %s %v", method, c.path, mine.status, mine.body, mine.header, none.status, none.body, none.header)
				}
				if c.hidden && mine.status != 404 {
					t.Errorf("%s %s: another's is %d %s", method, c.path, mine.status, mine.body)
				}
				for _, id := range theirs {
					if bytes.Contains(mine.body, []byte(id)) {
						t.Errorf("%s %s tells of another's: %s", method, c.path, mine.body)
					}
				}
			}
		}
	}
	t.Logf("%d routes with ids", routes)
	for param, path := range map[string]string{"video_id": "/v1/videos/", "file_id": "/v1/files/", "character_id": "/v1/videos/characters/", "session_id": sessionsPath + "/", "webhook_endpoint_id": "/v1/webhook_endpoints/",
		"batch_id": "/v1/batches/"} {
		s.request(t, http.MethodGet, path+theirs[param], nil, "Authorization", owner).object(t, 200) // all of that did nothing to it
	}
	s.timing(t, rival, theirs["video_id"], never["video_id"])
}

// foreignCall is a request with the name of an id in braces.
type foreignCall struct {
	path, body string
	// hidden is whether the answer must be a 404: the id is in the path or names the source of a video.
	hidden bool
}

// foreignCalls are the ways to reach for an id by an operation. One that is in no table fails the test.
func foreignCalls(t *testing.T, path string, op *openapi3.Operation, ids map[string]string) []foreignCall {
	t.Helper()
	if slices.Contains(nobodysOperations, op.OperationID) {
		return nil
	}
	var calls []foreignCall
	for _, place := range idsInBodies[op.OperationID] {
		id := "{" + place.param + "}"
		calls = append(calls, foreignCall{path: path + strings.ReplaceAll(place.path, "%s", id), body: strings.ReplaceAll(place.body, "%s", id), hidden: strings.Contains(place.body, `"video"`)})
	}
	if at := strings.Index(path, "{"); at >= 0 {
		param := path[at+1 : strings.Index(path, "}")]
		if ids[param] == "" {
			t.Errorf("%s has ids %q of which this test makes none: add one to belongings", path, param)
			return nil
		}
		body := foreignBodies[op.OperationID]
		if op.RequestBody != nil && body == "" {
			t.Errorf("%s wants a body: add one to foreignBodies", op.OperationID)
		}
		calls = append(calls, foreignCall{path: path, body: body, hidden: true})
	}
	if len(calls) == 0 {
		t.Errorf("%s is in no table of this test: say where it takes an id, or that it reaches nothing of a tenant's", op.OperationID)
	}
	return calls
}

// asStranger sends a call with ids in their places. What differs in each answer, whatever is asked, is taken out.
func (s *stack) asStranger(t *testing.T, method string, c foreignCall, key string, ids map[string]string) reply {
	t.Helper()
	path, body := c.path, c.body
	for param, id := range ids {
		path, body = strings.ReplaceAll(path, "{"+param+"}", id), strings.ReplaceAll(body, "{"+param+"}", id)
	}
	r := s.request(t, method, path, strings.NewReader(body), "Content-Type", "application/json", "Authorization", key)
	for _, name := range []string{"X-Request-Id", "Openai-Processing-Ms", "Date"} {
		r.header.Del(name)
	}
	return r
}

// belongings makes one of everything that has an id, by the name of its parameter.
func (s *stack) belongings(t *testing.T, key, hook string) map[string]string {
	t.Helper()
	id := func(r reply, name string) string {
		text, _ := r.object(t, 200)[name].(string)
		return text
	}
	formOf := func(path, body string) reply {
		return s.request(t, http.MethodPost, path, strings.NewReader(body), "Content-Type", "multipart/form-data; boundary="+boundary, "Authorization", key)
	}
	lines := form(field("purpose", "batch"), file("file", "a.jsonl", "", []byte(`{"custom_id":"a","method":"POST","url":"/v1/videos","body":{"prompt":"a"}}`)))
	batchFile := id(formOf("/v1/files", lines), "id")
	video := id(s.postJSON(t, "/v1/videos", `{"prompt":"a","model":"terrain"}`, "Authorization", key), "id")
	eventually(t, "it is completed", func() bool {
		return s.request(t, http.MethodGet, "/v1/videos/"+video, nil, "Authorization", key).object(t, 200)["status"] == "completed"
	})
	return map[string]string{
		"video_id":            video,
		"batch file_id":       batchFile,
		"batch_id":            id(s.postJSON(t, "/v1/batches", fmt.Sprintf(`{"input_file_id":%q,"endpoint":"/v1/videos","completion_window":"24h"}`, batchFile), "Authorization", key), "id"),
		"file_id":             id(formOf("/v1/files", form(field("purpose", "vision"), file("file", "a.png", "", testPNG(t, 64, 64)))), "id"),
		"character_id":        id(formOf("/v1/videos/characters", form(field("name", "a"), file("video", "a.mp4", "", tinyClip(t)))), "id"),
		"session_id":          id(s.session(t, nil, "Authorization", key), "session_id"),
		"webhook_endpoint_id": id(s.postJSON(t, "/v1/webhook_endpoints", fmt.Sprintf(`{"name":"a","url":%q,"event_types":["video.completed"]}`, hook), "Authorization", key), "id"),
	}
}

// another is an id of the same form that nobody has.
func another(id string) string {
	last := byte('0')
	if id[len(id)-1] == last {
		last = '1'
	}
	return id[:len(id)-1] + string(last)
}

// timing compares how long both answers take, in turns. The bar is held to at full scale alone, where the machine has nothing else to do.
func (s *stack) timing(t *testing.T, key, theirs, never string) {
	t.Helper()
	turns := 20
	if safetyLong {
		turns = 1000
	}
	var took [2][]time.Duration
	for range turns {
		for i, id := range []string{theirs, never} {
			begin := time.Now()
			s.request(t, http.MethodGet, "/v1/videos/"+id, nil, "Authorization", key).problem(t, 404)
			took[i] = append(took[i], time.Since(begin))
		}
	}
	median := func(d []time.Duration) time.Duration {
		slices.Sort(d)
		return d[len(d)/2]
	}
	difference := median(took[0]) - median(took[1])
	t.Logf("median of %d answers: another's %s, one that never was %s", turns, median(took[0]), median(took[1]))
	if safetyLong && difference.Abs() > time.Millisecond {
		t.Errorf("the answers differ by %s", difference)
	}
}
