package e2e_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAsAnAIPerfTarget speaks as AIPerf does, and holds the server to what it needs of one.
func TestAsAnAIPerfTarget(t *testing.T) {
	t.Parallel()
	dev := startDev(t)
	for name, submit := range map[string]func(*testing.T, *aiperfClient) video{"json": submitJSON, "multipart": submitMultipart} {
		t.Run(name, aiperfRun(dev, submit))
	}
	t.Run("many at once", func(t *testing.T) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() { aiperfRun(dev, submitJSON)(t) })
		}
		group.Wait()
	})
	t.Run("cancelled is failed", cancelledIsGone(dev))
	t.Run("discovery", discovery(dev))
}

// aiperfClient sends the same request id with everything of one request.
type aiperfClient struct {
	*client
	id string
}

func (a *aiperfClient) header() http.Header {
	return http.Header{
		"User-Agent": {"aiperf/0.13.0"}, "X-Request-Id": {a.id}, "X-Correlation-Id": {a.id}, "Accept": {"application/json"},
	}
}

// ask makes a request and checks that its id comes back.
func (a *aiperfClient) ask(t *testing.T, method, path, contentType string, body io.Reader, into any) http.Header {
	t.Helper()
	h := a.header()
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	got, err := a.call(t.Context(), method, path, h, body, into)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return http.Header{}
	}
	if got.Get("X-Request-Id") != a.id {
		t.Errorf("%s %s: request id %q, want %q", method, path, got.Get("X-Request-Id"), a.id)
	}
	return got
}

// submitJSON sends a length as a number, as --extra-inputs does.
func submitJSON(t *testing.T, a *aiperfClient) video {
	t.Helper()
	var v video
	body := `{"prompt":"A serene lake at sunset","model":"terrain","size":"64x64","seconds":1,"seed":42}`
	a.ask(t, http.MethodPost, "/v1/videos", "application/json", strings.NewReader(body), &v)
	return v
}

func submitMultipart(t *testing.T, a *aiperfClient) video {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, f := range [][2]string{{"prompt", "A lake"}, {"model", "terrain"}, {"size", "64x64"}, {"seconds", "1"}, {"seed", "42"}} {
		if err := form.WriteField(f[0], f[1]); err != nil {
			t.Fatal(err)
		}
	}
	part, err := form.CreateFormFile("input_reference", "first.png")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(picture(t, 64, 64)); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	var v video
	a.ask(t, http.MethodPost, "/v1/videos", form.FormDataContentType(), &body, &v)
	return v
}

// aiperfRun submits, polls at once and then every 100 ms, and downloads. One answer that is no success, or a status out of the four, spoils a sample.
func aiperfRun(dev *devServer, submit func(*testing.T, *aiperfClient) video) func(*testing.T) {
	return func(t *testing.T) {
		a := &aiperfClient{client: newClient(dev.url), id: "run-" + rand.Text()}
		v := submit(t, a)
		if v.ID == "" || v.Object != "video" || v.Status != "queued" && v.Status != "in_progress" {
			t.Errorf("submitted: %+v", v)
			return
		}
		var timing string
		deadline, tick := time.Now().Add(videoTimeout), time.NewTicker(100*time.Millisecond)
		defer tick.Stop()
		for !v.terminal() {
			h := a.ask(t, http.MethodGet, "/v1/videos/"+v.ID, "", nil, &v)
			if timing = h.Get("Server-Timing"); v.Status == "" || time.Now().After(deadline) {
				t.Errorf("polled: %+v", v)
				return
			}
			if !v.terminal() {
				<-tick.C
			}
		}
		checkFinished(t, v, timing)
		res, err := a.do(t.Context(), http.MethodGet, "/v1/videos/"+v.ID+"/content", a.header(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if data, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "video/mp4" || len(data) == 0 {
			t.Errorf("download: %d %s, %d bytes, %v", res.StatusCode, res.Header.Get("Content-Type"), len(data), err)
		}
	}
}

func checkFinished(t *testing.T, v video, timing string) {
	t.Helper()
	if v.Status != "completed" || v.CompletedAt == nil || v.Progress != 100 || v.Seconds != "1" || v.Size != "64x64" || v.URL != nil {
		t.Errorf("finished: %+v", v)
	}
	if v.InferenceTimeS == nil || *v.InferenceTimeS <= 0 {
		t.Errorf("inference time: %v", v.InferenceTimeS)
	}
	if v.PeakMemoryMB != nil && *v.PeakMemoryMB <= 0 {
		t.Errorf("peak memory: %v MB; unknown is absent", *v.PeakMemoryMB)
	}
	for _, phase := range []string{"queue", "denoise", "encode", "store"} {
		if !strings.Contains(timing, phase+";dur=") {
			t.Errorf("Server-Timing %q has no %s", timing, phase)
		}
	}
}

// cancelledIsGone checks that nobody polls a deleted video for ever: it is gone at once.
func cancelledIsGone(dev *devServer) func(*testing.T) {
	return func(t *testing.T) {
		v := dev.client.create(t, long("to be stopped"))
		if err := dev.client.delete(t.Context(), v.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := dev.client.get(t.Context(), v.ID); statusOf(err) != http.StatusNotFound {
			t.Errorf("after delete: %v", err)
		}
		// Its engine is free again: the next one is made in less time than it would have taken.
		dev.client.make(t, small("after it"))
	}
}

// discovery looks at what AIPerf asks beside videos.
func discovery(dev *devServer) func(*testing.T) {
	return func(t *testing.T) {
		var models struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		if _, err := dev.client.call(t.Context(), http.MethodGet, "/v1/models", nil, nil, &models); err != nil || len(models.Data) == 0 || models.Data[0].ID != "terrain" {
			t.Errorf("models: %v %v", models, err)
		}
		if _, err := dev.client.call(t.Context(), http.MethodGet, "/health", nil, nil, nil); err != nil {
			t.Errorf("health: %v", err)
		}
		res, err := dev.client.do(t.Context(), http.MethodGet, "/metrics", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
			t.Fatalf("metrics: %d %s %v", res.StatusCode, res.Header.Get("Content-Type"), err)
		}
		manual, err := os.ReadFile(filepath.Join(repository(t), "docs", "operations.md"))
		if err != nil {
			t.Fatal(err)
		}
		// What the manual tells operators to follow is what there is.
		named := regexp.MustCompile("`(telefuser_[a-z_]+[a-z])`").FindAllStringSubmatch(string(manual), -1)
		if len(named) == 0 {
			t.Error("docs/operations.md names no metric")
		}
		for _, name := range named {
			if !strings.Contains(string(text), "\n"+name[1]+"{") && !strings.Contains(string(text), "\n"+name[1]+" ") {
				t.Errorf("docs/operations.md names %s, which is not among the metrics", name[1])
			}
		}
	}
}
