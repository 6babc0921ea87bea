package e2e_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// TestOpenAIGoWithKeys meets the answers of a server that asks for keys and limits them.
func TestOpenAIGoWithKeys(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{apis: 1, apiArgs: []string{"--auth", "keys", "--creates-per-minute", "2"}})
	mine, theirs := s.newKey(""), s.newKey("") // each a tenant of its own
	once := option.WithMaxRetries(0)
	anonymous, wrong := sdk(s.balancer.url, "none", once).Videos, sdk(s.balancer.url, "sk-wrong", once).Videos
	for name, videos := range map[string]openai.VideoService{"no key": anonymous, "a wrong key": wrong} {
		_, err := videos.List(t.Context(), openai.VideoListParams{})
		wantError(t, err, http.StatusUnauthorized, "invalid_api_key", "")
		if err == nil {
			t.Errorf("%s is let in", name)
		}
	}
	videos, foreign := sdk(s.balancer.url, mine, once).Videos, sdk(s.balancer.url, theirs, once).Videos
	v, err := videos.NewAndPoll(t.Context(), newParams("mine alone", nil), 50)
	if err != nil {
		t.Fatal(err)
	}
	_, err = foreign.Get(t.Context(), v.ID)
	wantError(t, err, http.StatusNotFound, "not_found", "")
	if page, err := foreign.List(t.Context(), openai.VideoListParams{}); err != nil || len(page.Data) != 0 {
		t.Errorf("another tenant sees %v, %v", page, err)
	}
	var refusal *openai.Error
	limited := holdsWithin(10*time.Second, func() bool {
		_, err = videos.New(t.Context(), newParams("too many", nil))
		return errors.As(err, &refusal)
	})
	if !limited || refusal.StatusCode != http.StatusTooManyRequests || refusal.Response.Header.Get("Retry-After") == "" {
		t.Fatalf("a third create in a minute: %v", err)
	}
	// The limit is on creates: polling goes on.
	if _, err := videos.Get(t.Context(), v.ID); err != nil {
		t.Errorf("get beside the limit: %v", err)
	}
}

// newKey makes a key, which no log may show, of a tenant or of a new one.
func (s *stack) newKey(tenant string) string {
	s.t.Helper()
	args := []string{"keys", "create"}
	if tenant != "" {
		args = append(args, "--tenant", tenant)
	}
	return s.plant(firstLine(s.telefuser(args...)))
}
