package e2e_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// TestRebuildAfterFlush loses every record and brings the completed videos back from the store alone.
func TestRebuildAfterFlush(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{apis: 2, apiArgs: []string{"--auth", "keys"}})
	s.client.key = s.newKey("acme")
	foreign := newClient(s.client.base)
	foreign.key = s.newKey("other")
	theirs := foreign.make(t, small("of another tenant"))
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture(t, 64, 64))
	requests := []fields{
		small("plain"),
		small("with a picture").with(fields{"input_reference": map[string]string{"image_url": url}}),
		small("with more").with(fields{"seed": 0, "fps": 8, "metadata": map[string]string{"name": "猫"}}),
	}
	for _, f := range requests {
		s.client.make(t, f)
	}
	before := s.client.all(t, 2)
	contents := map[string][]byte{}
	for _, v := range before {
		contents[v.ID] = s.client.content(t, v.ID, "")
	}
	if err := s.redisClient().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	// Nobody overlooks that: the servers are not ready until an operator has done something about it.
	for i := range s.apis {
		waitFor(t, readyTimeout, "an API to notice the loss", func() bool {
			_, err := s.api(i).call(t.Context(), http.MethodGet, "/v1/service/ready", nil, nil, nil)
			return statusOf(err) == http.StatusServiceUnavailable
		})
	}

	if out := s.telefuser("jobs", "rebuild"); !strings.HasPrefix(out, fmt.Sprintf("restored %d,", len(before)+1)) {
		t.Errorf("rebuild says %q", out)
	}
	for i := range s.apis {
		s.awaitReady(i)
	}
	// Keys are not in the store; new ones of the same tenants see what is theirs, and no more.
	s.client.key, foreign.key = s.newKey("acme"), s.newKey("other")
	if listed := foreign.all(t, 10); len(listed) != 1 || listed[0].ID != theirs.ID {
		t.Errorf("the other tenant sees %v", listed)
	}
	after := s.client.all(t, 2)
	if len(after) != len(before) {
		t.Fatalf("%d videos are back, want %d", len(after), len(before))
	}
	for i, v := range after {
		if !reflect.DeepEqual(v, before[i]) {
			t.Errorf("video %d differs:\nbefore %+v\nafter  %+v", i, before[i], v)
		}
		if !bytes.Equal(s.client.content(t, v.ID, ""), contents[v.ID]) {
			t.Errorf("%s has other bytes", v.ID)
		}
		checkWebP(t, s.client.content(t, v.ID, "thumbnail"))
		checkJPEG(t, s.client.content(t, v.ID, "spritesheet"))
	}
	if out := s.telefuser("jobs", "rebuild"); !strings.HasPrefix(out, "restored 0,") {
		t.Errorf("a second rebuild says %q", out)
	}
	s.useRebuilt([]string{theirs.ID}, after)
}

// useRebuilt checks that what is back is as good as before: it can be continued and deleted, and new videos are made.
func (s *stack) useRebuilt(others []string, videos []video) {
	t := s.t
	t.Helper()
	body := fmt.Sprintf(`{"prompt":"further","seconds":1,"video":{"id":%q}}`, videos[0].ID)
	var longer video
	if _, err := s.client.call(t.Context(), http.MethodPost, "/v1/videos/extensions", jsonBody(), strings.NewReader(body), &longer); err != nil {
		t.Fatal(err)
	}
	longer = s.client.await(t, longer.ID)
	checkFile(t, longer, s.client.content(t, longer.ID, ""))
	if err := s.client.delete(t.Context(), videos[1].ID); err != nil {
		t.Error(err)
	}
	fresh := s.client.make(t, small("a new one"))
	s.checkStoredVideos(append(others, videos[0].ID, videos[2].ID, longer.ID, fresh.ID))
}

func jsonBody() http.Header { return http.Header{"Content-Type": {"application/json"}} }
