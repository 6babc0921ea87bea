package api_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/webhooks"

	"telefuser/jobs"
)

// listAll is a query for everything.
func listAll() jobs.ListQuery { return jobs.ListQuery{Limit: 100} }

// TestSDKManagesWebhooks goes through the whole resource with the official client, and verifies what a test sends by its verifier.
func TestSDKManagesWebhooks(t *testing.T) {
	s, stage := newOutboundStack(t)
	var calls atomic.Int64
	var secret string
	stage.Server = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, err := io.ReadAll(r.Body)
		verifier := openai.NewClient(option.WithAPIKey("k"), option.WithWebhookSecret(secret))
		if err != nil || verifier.Webhooks.VerifySignature(body, r.Header) != nil {
			t.Errorf("a test that cannot be verified: %s, %v", body, err)
		}
		w.WriteHeader(http.StatusTeapot)
	})
	client := s.sdk(option.WithMaxRetries(0))
	hooks, ctx := client.Webhooks, t.Context()
	made, err := hooks.New(ctx, webhooks.WebhookNewParams{Name: "mine 🌊", URL: stage.URL("/hook"), EventTypes: []string{"video.completed", "video.failed"}})
	if err != nil {
		t.Fatal(err)
	}
	if made.Object != "webhook_endpoint" || made.Name != "mine 🌊" || made.URL != stage.URL("/hook") || !strings.HasPrefix(made.SigningSecret, "whsec_") ||
		!strings.HasSuffix(strings.TrimRight(made.SigningSecret, "="), strings.TrimPrefix(made.SigningSecretHint, "whsec_...")) || made.CreatedAt == 0 || made.UpdatedAt != made.CreatedAt {
		t.Errorf("created: %+v", made)
	}
	secret = made.SigningSecret
	said, err := hooks.Test(ctx, made.ID, webhooks.WebhookTestParams{EventType: "video.completed"})
	if err != nil || said.StatusCode != http.StatusTeapot || said.WebhookEndpointID != made.ID || said.EventType != "video.completed" || calls.Load() != 1 {
		t.Errorf("tested: %+v, %v", said, err)
	}
	rotated, err := hooks.RotateSecret(ctx, made.ID, webhooks.WebhookRotateSecretParams{KeepOldSecretActiveFor24Hours: openai.Bool(true)})
	if err != nil || rotated.SigningSecret == made.SigningSecret || rotated.ID != made.ID {
		t.Errorf("rotated: %+v, %v", rotated, err)
	}
	if _, err := hooks.Test(ctx, made.ID, webhooks.WebhookTestParams{EventType: "video.failed"}); err != nil { // verified by the old secret
		t.Error(err)
	}
	if rotated, err = hooks.RotateSecret(ctx, made.ID, webhooks.WebhookRotateSecretParams{}); err != nil {
		t.Fatal(err)
	}
	secret = rotated.SigningSecret
	if _, err := hooks.Test(ctx, made.ID, webhooks.WebhookTestParams{EventType: "video.failed"}); err != nil {
		t.Error(err)
	}
	got, err := hooks.Get(ctx, made.ID)
	if err != nil || got.SigningSecretHint != rotated.SigningSecretHint || strings.Contains(got.RawJSON(), secret[6:20]) {
		t.Errorf("got: %s, %v", got.RawJSON(), err)
	}
	changed, err := hooks.Update(ctx, made.ID, webhooks.WebhookUpdateParams{Name: openai.String("yours"), EventTypes: []string{"video.failed"}})
	if err != nil || changed.Name != "yours" || changed.URL != made.URL || !slices.Equal(changed.EventTypes, []string{"video.failed"}) {
		t.Errorf("updated: %+v, %v", changed, err)
	}
	if types, err := hooks.EventTypes.List(ctx); err != nil || !slices.Equal(types.Data, jobs.WebhookEventTypes()) {
		t.Errorf("types: %+v, %v", types, err)
	}
	deleted, err := hooks.Delete(ctx, made.ID)
	if err != nil || !deleted.Deleted || deleted.ID != made.ID {
		t.Errorf("deleted: %+v, %v", deleted, err)
	}
	var refusal *openai.Error
	if _, err := hooks.Get(ctx, made.ID); !errors.As(err, &refusal) || refusal.StatusCode != http.StatusNotFound || refusal.Param != "webhook_endpoint_id" {
		t.Errorf("after the deletion: %v", err)
	}
	if strings.Contains(s.logs.String(), secret[6:20]) || strings.Contains(s.logs.String(), "whsec_") {
		t.Error("a secret is in the log")
	}
}

// TestSDKPagesThroughWebhooks makes more than a page of them, and more than are allowed.
func TestSDKPagesThroughWebhooks(t *testing.T) {
	s, stage := newOutboundStack(t, func(in *setup) { in.jobs.WebhooksPerTenantMax = 5 })
	client := s.sdk(option.WithMaxRetries(0))
	var want []string
	for i := range 5 {
		made, err := client.Webhooks.New(t.Context(), webhooks.WebhookNewParams{Name: fmt.Sprint(i), URL: stage.URL("/hook"), EventTypes: []string{"video.failed"}})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, made.ID)
	}
	var got []string
	for pages := client.Webhooks.ListAutoPaging(t.Context(), webhooks.WebhookListParams{Limit: openai.Int(2)}); pages.Next(); {
		got = append(got, pages.Current().ID)
	}
	slices.Sort(want)
	slices.Reverse(want)
	if !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	_, err := client.Webhooks.New(t.Context(), webhooks.WebhookNewParams{Name: "6", URL: stage.URL("/hook"), EventTypes: []string{"video.failed"}})
	var refusal *openai.Error
	if !errors.As(err, &refusal) || refusal.StatusCode != http.StatusTooManyRequests || refusal.Code != "too_many_webhook_endpoints" {
		t.Errorf("one too many: %v", err)
	}
}

// TestWebhooksOfAnotherTenantAreMissing tries each route with a stranger's key: the answer is that of an id that never was.
func TestWebhooksOfAnotherTenantAreMissing(t *testing.T) {
	s, stage := newOutboundStack(t, withKeys)
	mine, theirs := s.key(t, "acme"), s.key(t, "umbrella")
	id := s.postJSON(t, "/v1/webhook_endpoints", map[string]any{"name": "n", "url": stage.URL("/"), "event_types": []string{"video.failed"}}, "Authorization", mine).object(t, 200)["id"].(string)
	const never = "whe_00000000000000000000000000"
	for _, c := range []struct{ method, path, body string }{
		{"GET", "", ""}, {"POST", "", `{"name":"x"}`}, {"DELETE", "", ""}, {"POST", "/rotate_secret", "{}"}, {"POST", "/test", `{"event_type":"video.failed"}`},
	} {
		var bodies []string
		for _, target := range []string{id, never, "..%2F", strings.Repeat("a", 4096)} {
			r := s.request(t, c.method, "/v1/webhook_endpoints/"+target+c.path, strings.NewReader(c.body), "Authorization", theirs, "Content-Type", "application/json")
			if r.status != 404 {
				t.Errorf("%s %.40s%s: %d %s", c.method, target, c.path, r.status, r.body)
			}
			bodies = append(bodies, string(r.body))
		}
		if bodies[0] != bodies[1] {
			t.Errorf("%s%s: %s differs from %s", c.method, c.path, bodies[0], bodies[1])
		}
	}
	if list := s.request(t, "GET", "/v1/webhook_endpoints", nil, "Authorization", theirs).object(t, 200); len(list["data"].([]any)) != 0 {
		t.Errorf("a stranger sees %v", list)
	}
	if stage.Hits() != 0 {
		t.Error("a stranger's test was sent")
	}
	s.request(t, "GET", "/v1/webhook_endpoints/"+id, nil, "Authorization", mine).object(t, 200)
}

// TestBadWebhooks names the field at fault.
func TestBadWebhooks(t *testing.T) {
	s, stage := newOutboundStack(t)
	good := stage.URL("/hook")
	long := "http://allowed.test/" + strings.Repeat("a", 2048)
	for _, c := range []struct{ body, param string }{
		{`{}`, "*"}, {`{"name":"n","url":"` + good + `"}`, "event_types"}, {`{"name":"n","event_types":["video.failed"]}`, "url"}, {`{"url":"` + good + `","event_types":["video.failed"]}`, "name"},
		{`{"name":"","url":"` + good + `","event_types":["video.failed"]}`, "name"}, {`{"name":" ","url":"` + good + `","event_types":["video.failed"]}`, "name"},
		{`{"name":"a\nb","url":"` + good + `","event_types":["video.failed"]}`, "name"}, {`{"name":5,"url":"` + good + `","event_types":["video.failed"]}`, "name"},
		{`{"name":"` + strings.Repeat("n", 257) + `","url":"` + good + `","event_types":["video.failed"]}`, "name"},
		{`{"name":"n","url":5,"event_types":["video.failed"]}`, "url"}, {`{"name":"n","url":"x","event_types":["video.failed"]}`, "url"},
		{`{"name":"n","url":"` + long + `","event_types":["video.failed"]}`, "url"}, {`{"name":"n","url":"http://127.0.0.1/","event_types":["video.failed"]}`, "url"},
		{`{"name":"n","url":"http://no-such-name.test/","event_types":["video.failed"]}`, "url"}, {`{"name":"n","url":"ftp://allowed.test/","event_types":["video.failed"]}`, "url"},
		{`{"name":"n","url":"http://u:p@allowed.test/","event_types":["video.failed"]}`, "url"}, {`{"name":"n","url":"http://allowed.test:22/","event_types":["video.failed"]}`, "url"},
		{`{"name":"n","url":"` + good + `","event_types":[]}`, "event_types"}, {`{"name":"n","url":"` + good + `","event_types":"video.failed"}`, "event_types"},
		{`{"name":"n","url":"` + good + `","event_types":["response.completed"]}`, "event_types"}, {`{"name":"n","url":"` + good + `","event_types":[5]}`, "event_types"},
		{`{"name":"n","url":"` + good + `","event_types":{"a":1}}`, "event_types"}, {`{"name":"n","url":"` + good + `","event_types":["video.failed"],"secret":"x"}`, "secret"},
	} {
		if p := s.postJSON(t, "/v1/webhook_endpoints", c.body).problem(t, 400); c.param != "*" && p["param"] != c.param {
			t.Errorf("%.120s: %v", c.body, p)
		}
	}
	id := s.postJSON(t, "/v1/webhook_endpoints", `{"name":"n","url":"`+good+`","event_types":["video.failed"]}`).object(t, 200)["id"].(string)
	for _, c := range []struct{ path, body, param string }{
		{"", `{"url":"http://127.0.0.1/"}`, "url"}, {"", `{"event_types":[]}`, "event_types"}, {"", `{"x":1}`, "x"},
		{"/rotate_secret", `{"keep_old_secret_active_for_24_hours":"yes"}`, "keep_old_secret_active_for_24_hours"}, {"/rotate_secret", `{"x":1}`, "x"},
		{"/test", `{}`, "event_type"}, {"/test", `{"event_type":"response.completed"}`, "event_type"}, {"/test", `{"event_type":"video.failed","x":1}`, "x"},
	} {
		if p := s.postJSON(t, "/v1/webhook_endpoints/"+id+c.path, c.body).problem(t, 400); p["param"] != c.param {
			t.Errorf("%s %s: %v", c.path, c.body, p)
		}
	}
	for _, query := range []string{"limit=0", "limit=101", "limit=x", "order=up", "after=x", "after=video_00000000000000000000000000"} {
		s.request(t, "GET", "/v1/webhook_endpoints?"+query, nil).problem(t, 400)
	}
	if hits := stage.Hits(); hits != 0 {
		t.Errorf("%d calls", hits)
	}
}

// TestATestOfADeadReceiverIsAnAnswer stops at once, and says which endpoint.
func TestATestOfADeadReceiverIsAnAnswer(t *testing.T) {
	s, stage := newOutboundStack(t)
	id := s.postJSON(t, "/v1/webhook_endpoints", map[string]any{"name": "n", "url": stage.URL("/"), "event_types": []string{"video.failed"}}).object(t, 200)["id"].(string)
	stage.DNS.Say("allowed.test")
	if p := s.postJSON(t, "/v1/webhook_endpoints/"+id+"/test", `{"event_type":"video.failed"}`).problem(t, 400); p["code"] != "webhook_unreachable" || p["param"] != "webhook_endpoint_id" {
		t.Errorf("%v", p)
	}
}

func TestAServerWithoutWebhooksSaysSo(t *testing.T) {
	s := newStack(t)
	if p := s.postJSON(t, "/v1/webhook_endpoints", `{}`).problem(t, 503); p["code"] != "webhooks_off" {
		t.Errorf("%v", p)
	}
}
