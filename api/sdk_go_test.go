//lint:file-ignore SA1019 the client marks the whole resource as deprecated; this server goes on serving it

package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"telefuser/jobs"
)

// sdk is the unmodified official client, its answers checked like all others.
func (s *stack) sdk(options ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{option.WithBaseURL(s.url + "/v1/"), option.WithAPIKey("local"), option.WithHTTPClient(s.client)}, options...)...)
}

func TestSDKCreatesAndPolls(t *testing.T) {
	s := newStack(t)
	client := s.sdk()
	first, err := client.Videos.New(t.Context(), openai.VideoNewParams{Prompt: "a lake 🌊", Seconds: openai.VideoSeconds8, Size: openai.VideoSize1280x720, Model: openai.VideoModelSora2})
	if err != nil {
		t.Fatal(err)
	}
	if first.Status != openai.VideoStatusQueued || first.Seconds != openai.VideoSeconds8 || first.Size != openai.VideoSize1280x720 || first.Prompt != "a lake 🌊" || first.Model != "sora-2" {
		t.Errorf("created: %+v", first)
	}
	s.work(t, finisher{})
	done, err := client.Videos.NewAndPoll(t.Context(), openai.VideoNewParams{Prompt: "another"}, 5)
	if err != nil {
		t.Fatal(err)
	}
	if done.Status != openai.VideoStatusCompleted || done.Progress != 100 || done.Seconds != openai.VideoSeconds4 || done.Size != openai.VideoSize720x1280 || done.CompletedAt == 0 || done.ExpiresAt == 0 {
		t.Errorf("polled: %+v", done)
	}
	if raw := done.JSON.ExtraFields["fps"].Raw(); raw != "16" {
		t.Errorf("the extension fps is %q", raw)
	}
	got, err := client.Videos.Get(t.Context(), first.ID)
	if err != nil || got.ID != first.ID {
		t.Errorf("read: %+v %v", got, err)
	}
}

func TestSDKPollingEndsOnAFailure(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{fail: &jobs.Failure{Code: jobs.CodeCancelled, Message: "The video was cancelled."}})
	client := s.sdk()
	v, err := client.Videos.NewAndPoll(t.Context(), openai.VideoNewParams{Prompt: "a"}, 5)
	if err != nil || v.Status != openai.VideoStatusFailed || v.Error.Code != "cancelled" || v.Error.Message == "" {
		t.Errorf("%+v %v", v, err)
	}
}

func TestSDKReferences(t *testing.T) {
	s := newStack(t)
	client := s.sdk()
	picture := testPNG(t, 720, 1280)
	f, err := client.Files.New(t.Context(), openai.FileNewParams{File: bytes.NewReader(picture), Purpose: openai.FilePurposeVision})
	if err != nil {
		t.Fatal(err)
	}
	for name, reference := range map[string]openai.VideoNewParamsInputReferenceUnion{
		"reader":     {OfFile: bytes.NewReader(picture)},
		"named file": {OfFile: openai.File(bytes.NewReader(picture), "猫.png", "image/png")},
		"data URL":   {OfImageInputReference: &openai.ImageInputReferenceParam{ImageURL: openai.String(dataURL(picture))}},
		"file id":    {OfImageInputReference: &openai.ImageInputReferenceParam{FileID: openai.String(f.ID)}},
	} {
		v, err := client.Videos.New(t.Context(), openai.VideoNewParams{Prompt: "a", InputReference: reference})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if job, err := s.jobs.Get(t.Context(), "local", v.ID); err != nil || job.Spec.Task != "i2v" {
			t.Errorf("%s: %+v %v", name, job.Spec, err)
		}
	}
	_, err = client.Videos.New(t.Context(), openai.VideoNewParams{Prompt: "a", Size: openai.VideoSize1280x720, InputReference: openai.VideoNewParamsInputReferenceUnion{OfFile: bytes.NewReader(picture)}})
	wantError(t, err, 400, "input_reference")
	var apiErr *openai.Error
	if !errors.As(err, &apiErr) || !strings.HasPrefix(apiErr.Message, "Inpaint image must match the requested width and height") {
		t.Errorf("the message is %v", err)
	}
}

func TestSDKExtraFieldsAsText(t *testing.T) {
	s := newStack(t)
	client := s.sdk()
	params := openai.VideoNewParams{Prompt: "a", Model: "terrain"}
	params.SetExtraFields(map[string]any{"seed": "0", "speed": "3.5", "num_frames": "77", "fps": "16"})
	v, err := client.Videos.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if v.Seconds != "4.8125" || v.JSON.ExtraFields["seed"].Raw() != "0" || v.JSON.ExtraFields["num_frames"].Raw() != "77" {
		t.Errorf("%s", v.RawJSON())
	}
}

func TestSDKPagesThroughEverything(t *testing.T) {
	s := newStack(t)
	client := s.sdk()
	made := map[string]bool{}
	for range 5 {
		v, err := client.Videos.New(t.Context(), openai.VideoNewParams{Prompt: "a"})
		if err != nil {
			t.Fatal(err)
		}
		made[v.ID] = true
	}
	for _, order := range []openai.VideoListParamsOrder{"", openai.VideoListParamsOrderAsc, openai.VideoListParamsOrderDesc} {
		pager := client.Videos.ListAutoPaging(t.Context(), openai.VideoListParams{Limit: openai.Int(1), Order: order})
		seen := map[string]bool{}
		for pager.Next() {
			v := pager.Current()
			if got, err := client.Videos.Get(t.Context(), v.ID); err != nil || got.ID != v.ID || seen[v.ID] {
				t.Errorf("%s: %v, seen %v", v.ID, err, seen[v.ID])
			}
			seen[v.ID] = true
		}
		if err := pager.Err(); err != nil || len(seen) != len(made) {
			t.Errorf("order %q: %d of %d, %v", order, len(seen), len(made), err)
		}
	}
}

func TestSDKDownloadsAndDeletes(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	client := s.sdk()
	v, err := client.Videos.NewAndPoll(t.Context(), openai.VideoNewParams{Prompt: "a"}, 5)
	if err != nil {
		t.Fatal(err)
	}
	for variant, want := range map[openai.VideoDownloadContentParamsVariant]string{"": "video/mp4", openai.VideoDownloadContentParamsVariantVideo: "video/mp4",
		openai.VideoDownloadContentParamsVariantThumbnail: "image/webp", openai.VideoDownloadContentParamsVariantSpritesheet: "image/jpeg"} {
		res, err := client.Videos.DownloadContent(t.Context(), v.ID, openai.VideoDownloadContentParams{Variant: variant})
		if err != nil {
			t.Errorf("%q: %v", variant, err)
			continue
		}
		data, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.Header.Get("Content-Type") != want || len(data) == 0 {
			t.Errorf("%q: %s, %d bytes, %v", variant, res.Header.Get("Content-Type"), len(data), err)
		}
	}
	_, err = client.Videos.DownloadContent(t.Context(), v.ID, openai.VideoDownloadContentParams{Variant: "audio"})
	wantError(t, err, 400, "variant")
	deleted, err := client.Videos.Delete(t.Context(), v.ID)
	if err != nil || !deleted.Deleted || deleted.ID != v.ID || deleted.Object != "video.deleted" {
		t.Errorf("%+v %v", deleted, err)
	}
	_, err = client.Videos.Get(t.Context(), v.ID)
	wantError(t, err, 404, "video_id")
}

func TestSDKDerives(t *testing.T) {
	s := newStack(t)
	s.work(t, finisher{})
	client := s.sdk()
	v, err := client.Videos.NewAndPoll(t.Context(), openai.VideoNewParams{Prompt: "a"}, 5)
	if err != nil {
		t.Fatal(err)
	}
	remix, err := client.Videos.Remix(t.Context(), v.ID, openai.VideoRemixParams{Prompt: "by night"})
	if err != nil || remix.RemixedFromVideoID != v.ID {
		t.Errorf("remix: %+v %v", remix, err)
	}
	edit, err := client.Videos.Edit(t.Context(), openai.VideoEditParams{Prompt: "in snow", Video: openai.VideoEditParamsVideoUnion{
		OfVideoEditsVideoVideoReferenceInputParam: &openai.VideoEditParamsVideoVideoReferenceInputParam{ID: v.ID}}})
	if err != nil || edit.Status != openai.VideoStatusQueued {
		t.Errorf("edit: %+v %v", edit, err)
	}
	_, err = client.Videos.Edit(t.Context(), openai.VideoEditParams{Prompt: "in snow", Video: openai.VideoEditParamsVideoUnion{OfFile: bytes.NewReader(tinyClip(t))}})
	wantError(t, err, 400, "video")
	extension, err := client.Videos.Extend(t.Context(), openai.VideoExtendParams{Prompt: "go on", Seconds: openai.VideoSeconds8, Video: openai.VideoExtendParamsVideoUnion{
		OfVideoExtendsVideoVideoReferenceInputParam: &openai.VideoExtendParamsVideoVideoReferenceInputParam{ID: v.ID}}})
	if err != nil || extension.Seconds != "12" {
		t.Errorf("extension: %+v %v", extension, err)
	}
}

func TestSDKCharacters(t *testing.T) {
	s := newStack(t)
	client := s.sdk()
	c, err := client.Videos.NewCharacter(t.Context(), openai.VideoNewCharacterParams{Name: "Mossy", Video: bytes.NewReader(tinyClip(t))})
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.Videos.GetCharacter(t.Context(), c.ID)
	if err != nil || again.Name != "Mossy" || again.CreatedAt != c.CreatedAt {
		t.Errorf("%+v %v", again, err)
	}
}

func TestSDKFilesAndModels(t *testing.T) {
	s := newStack(t)
	client := s.sdk()
	f, err := client.Files.New(t.Context(), openai.FileNewParams{File: strings.NewReader("data"), Purpose: openai.FilePurposeUserData})
	if err != nil {
		t.Fatal(err)
	}
	pager := client.Files.ListAutoPaging(t.Context(), openai.FileListParams{})
	if !pager.Next() || pager.Current().ID != f.ID {
		t.Errorf("the list: %v", pager.Err())
	}
	res, err := client.Files.Content(t.Context(), f.ID)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if string(data) != "data" {
		t.Errorf("the content is %q", data)
	}
	if gone, err := client.Files.Delete(t.Context(), f.ID); err != nil || !gone.Deleted {
		t.Errorf("%+v %v", gone, err)
	}
	models := client.Models.ListAutoPaging(t.Context())
	names := map[string]bool{}
	for models.Next() {
		names[models.Current().ID] = true
	}
	if models.Err() != nil || !names["terrain"] || !names["sora-2"] {
		t.Errorf("models %v %v", names, models.Err())
	}
}

// wantError wants the SDK's own error with the field at fault.
func wantError(t *testing.T, err error, status int, param string) {
	t.Helper()
	var apiErr *openai.Error
	if !errors.As(err, &apiErr) {
		t.Errorf("%v is no API error", err)
		return
	}
	if apiErr.StatusCode != status || apiErr.Param != param || apiErr.Message == "" || apiErr.Type == "" || apiErr.Code == "" {
		t.Errorf("status %d, param %q, type %q, code %q, message %q; want %d and %q", apiErr.StatusCode, apiErr.Param, apiErr.Type, apiErr.Code, apiErr.Message, status, param)
	}
}

// TestSDKErrorClasses counts how often each error is sent: the SDK must not try again what cannot work.
func TestSDKErrorClasses(t *testing.T) {
	s := newStack(t, withKeys, func(in *setup) { in.jobs.QueuedMax = 1 })
	key := strings.TrimPrefix(s.key(t, "acme"), "Bearer ")
	var hits atomic.Int64
	count := option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		hits.Add(1)
		return next(req)
	})
	client := s.sdk(option.WithAPIKey(key), count)
	hour := option.WithRequestTimeout(time.Hour)
	v, err := client.Videos.New(t.Context(), openai.VideoNewParams{Prompt: "a"}, option.WithHeader("Idempotency-Key", "k"), hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		call          func(ctx context.Context) error
		status, tries int
		param         string
	}{
		"400": {func(ctx context.Context) error {
			_, err := client.Videos.New(ctx, openai.VideoNewParams{Prompt: ""})
			return err
		}, 400, 1, "prompt"},
		"401": {func(ctx context.Context) error {
			_, err := client.Videos.Get(ctx, v.ID, option.WithAPIKey("wrong"))
			return err
		}, 401, 1, ""},
		"404": {func(ctx context.Context) error {
			_, err := client.Videos.Get(ctx, "video_01234567890123456789012345")
			return err
		}, 404, 1, "video_id"},
		"404 content": {func(ctx context.Context) error {
			_, err := client.Videos.DownloadContent(ctx, v.ID, openai.VideoDownloadContentParams{})
			return err
		}, 404, 1, "video_id"},
		"409": {func(ctx context.Context) error {
			_, err := client.Videos.New(ctx, openai.VideoNewParams{Prompt: "b"}, option.WithHeader("Idempotency-Key", "k"))
			return err
		}, 409, 1, "Idempotency-Key"},
		"429": {func(ctx context.Context) error {
			_, err := client.Videos.New(ctx, openai.VideoNewParams{Prompt: "c"}, option.WithMaxRetries(0))
			return err
		}, 429, 1, ""},
		"remix of a queued one": {func(ctx context.Context) error {
			_, err := client.Videos.Remix(ctx, v.ID, openai.VideoRemixParams{Prompt: "b"})
			return err
		}, 400, 1, "video_id"},
		"remix of nothing": {func(ctx context.Context) error {
			_, err := client.Videos.Remix(ctx, "video_1", openai.VideoRemixParams{Prompt: "b"})
			return err
		}, 404, 1, "video_id"},
	} {
		hits.Store(0)
		err := c.call(t.Context())
		wantError(t, err, c.status, c.param)
		if n := hits.Load(); n != int64(c.tries) {
			t.Errorf("%s was sent %d times, want %d", name, n, c.tries)
		}
	}
}

// TestSDKRetryAfterALostReply puts a proxy between that drops the first answer; the SDK tries again and there is one video.
func TestSDKRetryAfterALostReply(t *testing.T) {
	s := newStack(t)
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	var lost atomic.Bool
	forward := httputil.NewSingleHostReverseProxy(target)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || lost.Swap(true) {
			forward.ServeHTTP(w, r)
			return
		}
		forward.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // the server has answered; the client hears nothing of it
	}))
	defer proxy.Close()
	client := s.sdk(option.WithBaseURL(proxy.URL + "/v1/"))
	v, err := client.Videos.New(t.Context(), openai.VideoNewParams{Prompt: "a"})
	if err != nil {
		t.Fatal(err)
	}
	list := s.request(t, "GET", "/v1/videos", nil).object(t, 200)["data"].([]any)
	if !lost.Load() || len(list) != 1 || list[0].(map[string]any)["id"] != v.ID {
		t.Errorf("there are %d videos: %v", len(list), list)
	}
}
