package e2e_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// sdk is an unmodified client of the official Go SDK.
func sdk(base, key string, opts ...option.RequestOption) openai.Client {
	all := append([]option.RequestOption{option.WithBaseURL(base + "/v1/"), option.WithAPIKey(key)}, opts...)
	return openai.NewClient(all...)
}

// newParams asks for the cheapest video; extras are text because the SDK writes nothing else in forms.
func newParams(prompt string, extras map[string]any) openai.VideoNewParams {
	p := openai.VideoNewParams{Prompt: prompt, Model: "terrain", Size: "64x64"}
	all := map[string]any{"num_frames": "5"}
	for k, v := range extras {
		all[k] = v
	}
	p.SetExtraFields(all)
	return p
}

func TestOpenAIGo(t *testing.T) {
	t.Parallel()
	dev := startDev(t)
	g := &goSuite{dev: dev, videos: sdk(dev.url, "any").Videos}
	t.Run("new with a reader", g.newWithReader)
	t.Run("new with a data URL", g.newWithDataURL)
	t.Run("new and poll", g.newAndPoll)
	t.Run("defaults of the OpenAI model", g.openAIDefaults)
	t.Run("content of each variant", g.content)
	t.Run("remix", g.remix)
	t.Run("edit", g.edit)
	t.Run("extend", g.extend)
	t.Run("characters", g.characters)
	t.Run("delete", g.delete)
	t.Run("not ready yet", g.unfinished)
	t.Run("error classes", g.errors)
	t.Run("paging", g.paging)
}

// goSuite is the SDK against one server.
type goSuite struct {
	dev    *devServer
	videos openai.VideoService
}

// poll waits for a video with a short interval of the caller's own.
func (g *goSuite) poll(t *testing.T, id string) *openai.Video {
	t.Helper()
	v, err := g.videos.PollStatus(t.Context(), id, 50)
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != openai.VideoStatusCompleted {
		t.Fatalf("%s: %s", v.Status, v.Error.RawJSON())
	}
	return v
}

// made is a finished video of so many frames.
func (g *goSuite) made(t *testing.T, frames string) *openai.Video {
	t.Helper()
	v, err := g.videos.New(t.Context(), newParams("a quiet valley", map[string]any{"num_frames": frames, "seed": "3"}))
	if err != nil {
		t.Fatal(err)
	}
	return g.poll(t, v.ID)
}

func (g *goSuite) newWithReader(t *testing.T) {
	p := newParams("猫 on a hill 🐈", map[string]any{"seed": "0"})
	p.InputReference = openai.VideoNewParamsInputReferenceUnion{OfFile: bytes.NewReader(picture(t, 64, 64))}
	v, err := g.videos.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != openai.VideoStatusQueued && v.Status != openai.VideoStatusInProgress || v.Object != "video" || v.CreatedAt == 0 {
		t.Errorf("created: %s", v.RawJSON())
	}
	if v.Prompt != "猫 on a hill 🐈" {
		t.Errorf("prompt came back as %q", v.Prompt)
	}
	if seed := v.JSON.ExtraFields["seed"].Raw(); seed != "0" {
		t.Errorf("seed 0 came back as %s", seed)
	}
	g.poll(t, v.ID)
}

func (g *goSuite) newWithDataURL(t *testing.T) {
	p := newParams("from a picture", nil)
	p.InputReference = openai.VideoNewParamsInputReferenceUnion{OfImageInputReference: &openai.ImageInputReferenceParam{
		ImageURL: openai.String("data:image/png;base64," + base64.StdEncoding.EncodeToString(picture(t, 64, 64))),
	}}
	v, err := g.videos.New(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	g.poll(t, v.ID)
}

// newAndPoll leaves the interval to the server.
func (g *goSuite) newAndPoll(t *testing.T) {
	v, err := g.videos.NewAndPoll(t.Context(), newParams("a river", nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	if v.Status != openai.VideoStatusCompleted || v.Progress != 100 || v.CompletedAt < v.CreatedAt || v.ExpiresAt <= v.CompletedAt {
		t.Errorf("polled: %s", v.RawJSON())
	}
}

func (g *goSuite) openAIDefaults(t *testing.T) {
	v, err := g.videos.New(t.Context(), openai.VideoNewParams{Prompt: "defaults"})
	if err != nil {
		t.Fatal(err)
	}
	if v.Model != "sora-2" || v.Seconds != "4" || v.Size != "720x1280" {
		t.Errorf("defaults: %s", v.RawJSON())
	}
	if _, err := g.videos.Delete(t.Context(), v.ID); err != nil {
		t.Errorf("delete of a running video: %v", err)
	}
}

func (g *goSuite) content(t *testing.T) {
	v := g.made(t, "13")
	get := func(variant openai.VideoDownloadContentParamsVariant) (data []byte, contentType string) {
		res, err := g.videos.DownloadContent(t.Context(), v.ID, openai.VideoDownloadContentParams{Variant: variant})
		if err != nil {
			t.Fatalf("%q: %v", variant, err)
		}
		defer res.Body.Close()
		if data, err = io.ReadAll(res.Body); err != nil {
			t.Fatal(err)
		}
		return data, res.Header.Get("Content-Type")
	}
	plain, contentType := get("")
	named, _ := get(openai.VideoDownloadContentParamsVariantVideo)
	if !bytes.Equal(plain, named) || contentType != "video/mp4" {
		t.Errorf("variant video differs from none, or is %s", contentType)
	}
	if p := probe(t, plain); p.frames != 13 || p.width != 64 || p.height != 64 || p.fps != "16" {
		t.Errorf("the file has %+v", p)
	}
	thumbnail, contentType := get(openai.VideoDownloadContentParamsVariantThumbnail)
	if checkWebP(t, thumbnail); contentType != "image/webp" {
		t.Errorf("thumbnail is %s", contentType)
	}
	sheet, contentType := get(openai.VideoDownloadContentParamsVariantSpritesheet)
	if checkJPEG(t, sheet); contentType != "image/jpeg" {
		t.Errorf("spritesheet is %s", contentType)
	}
	_, err := g.videos.DownloadContent(t.Context(), v.ID, openai.VideoDownloadContentParams{Variant: "VIDEO"})
	wantError(t, err, http.StatusBadRequest, "", "variant")
}

func (g *goSuite) remix(t *testing.T) {
	source := g.made(t, "5")
	v, err := g.videos.Remix(t.Context(), source.ID, openai.VideoRemixParams{Prompt: "the same in winter"})
	if err != nil {
		t.Fatal(err)
	}
	v = g.poll(t, v.ID)
	if v.RemixedFromVideoID != source.ID || v.Prompt != "the same in winter" || v.Size != source.Size || v.Seconds != source.Seconds {
		t.Errorf("remix: %s", v.RawJSON())
	}
}

func (g *goSuite) edit(t *testing.T) {
	source := g.made(t, "5")
	v, err := g.videos.Edit(t.Context(), openai.VideoEditParams{Prompt: "at night", Video: openai.VideoEditParamsVideoUnion{
		OfVideoEditsVideoVideoReferenceInputParam: &openai.VideoEditParamsVideoVideoReferenceInputParam{ID: source.ID},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if v = g.poll(t, v.ID); v.Size != source.Size || v.Seconds != source.Seconds {
		t.Errorf("edit: %s", v.RawJSON())
	}
}

// extend checks that the stitched file is as long as both parts.
func (g *goSuite) extend(t *testing.T) {
	source := g.made(t, "17")
	v, err := g.videos.Extend(t.Context(), openai.VideoExtendParams{Prompt: "on and on", Seconds: "1", Video: openai.VideoExtendParamsVideoUnion{
		OfVideoExtendsVideoVideoReferenceInputParam: &openai.VideoExtendParamsVideoVideoReferenceInputParam{ID: source.ID},
	}})
	if err != nil {
		t.Fatal(err)
	}
	g.poll(t, v.ID)
	res, err := g.videos.DownloadContent(t.Context(), v.ID, openai.VideoDownloadContentParams{})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	mp4, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if p := probe(t, mp4); p.frames != 33 {
		t.Errorf("the stitched file has %+v, want 17 + 16 frames", p)
	}
	object, err := g.dev.client.get(t.Context(), v.ID)
	if err != nil {
		t.Fatal(err)
	}
	checkFile(t, object, mp4)
}

func (g *goSuite) characters(t *testing.T) {
	source := g.made(t, "33")
	mp4 := g.dev.client.content(t, source.ID, "")
	made, err := g.videos.NewCharacter(t.Context(), openai.VideoNewCharacterParams{Name: "Ada", Video: bytes.NewReader(mp4)})
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.videos.GetCharacter(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != made.ID || got.Name != "Ada" || got.CreatedAt == 0 {
		t.Errorf("character: %s", got.RawJSON())
	}
	_, err = g.videos.GetCharacter(t.Context(), "char_none")
	wantError(t, err, http.StatusNotFound, "", "")
}

func (g *goSuite) delete(t *testing.T) {
	v := g.made(t, "5")
	deleted, err := g.videos.Delete(t.Context(), v.ID)
	if err != nil {
		t.Fatal(err)
	}
	if !deleted.Deleted || deleted.ID != v.ID || deleted.Object != "video.deleted" {
		t.Errorf("deleted: %s", deleted.RawJSON())
	}
	_, err = g.videos.Get(t.Context(), v.ID)
	wantError(t, err, http.StatusNotFound, "", "")
	_, err = g.videos.DownloadContent(t.Context(), v.ID, openai.VideoDownloadContentParams{})
	wantError(t, err, http.StatusNotFound, "", "")
}

// unfinished asks too early for what only a completed video has.
func (g *goSuite) unfinished(t *testing.T) {
	v, err := g.videos.New(t.Context(), openai.VideoNewParams{Prompt: "to be stopped", Seconds: "12", Size: "1280x720"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.videos.DownloadContent(t.Context(), v.ID, openai.VideoDownloadContentParams{})
	wantError(t, err, http.StatusNotFound, "video_not_ready", "")
	_, err = g.videos.Remix(t.Context(), v.ID, openai.VideoRemixParams{Prompt: "too early"})
	var refusal *openai.Error
	if !errors.As(err, &refusal) || refusal.StatusCode < 400 || refusal.StatusCode >= 500 {
		t.Errorf("remix of a running video: %v", err)
	}
	if _, err := g.videos.Delete(t.Context(), v.ID); err != nil {
		t.Fatal(err)
	}
}

func (g *goSuite) errors(t *testing.T) {
	for _, c := range []struct {
		name  string
		p     openai.VideoNewParams
		param string
	}{
		{"no prompt", newParams("", nil), "prompt"},
		{"size", openai.VideoNewParams{Prompt: "x", Model: "terrain", Size: "banana"}, "size"},
		{"seconds", openai.VideoNewParams{Prompt: "x", Model: "terrain", Seconds: "4.5"}, "seconds"},
		{"model", openai.VideoNewParams{Prompt: "x", Model: "no-such-model"}, "model"},
		{"unknown field", newParams("x", map[string]any{"no_such_field": "1"}), "no_such_field"},
		{"picture of another size", withPicture(newParams("x", nil), picture(t, 32, 64)), "input_reference"},
		{"no picture", withPicture(newParams("x", nil), []byte("plain text")), "input_reference"},
	} {
		_, err := g.videos.New(t.Context(), c.p)
		var answer *openai.Error
		if !errors.As(err, &answer) || answer.StatusCode/100 != 4 || answer.Type != "invalid_request_error" || answer.Message == "" {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if answer.Param != c.param {
			t.Errorf("%s: param %q, want %q (%s)", c.name, answer.Param, c.param, answer.Message)
		}
		if answer.Response.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no request id", c.name)
		}
	}
	_, err := g.videos.Get(t.Context(), "video_00000000000000000000000000")
	wantError(t, err, http.StatusNotFound, "not_found", "")
	edit := openai.VideoEditParams{Prompt: "x", Video: openai.VideoEditParamsVideoUnion{OfFile: bytes.NewReader(picture(t, 8, 8))}}
	_, err = g.videos.Edit(t.Context(), edit)
	wantError(t, err, http.StatusBadRequest, "", "video")
}

func withPicture(p openai.VideoNewParams, data []byte) openai.VideoNewParams {
	p.InputReference = openai.VideoNewParamsInputReferenceUnion{OfFile: bytes.NewReader(data)}
	return p
}

// paging runs last: it counts the videos that it makes.
func (g *goSuite) paging(t *testing.T) {
	var made []string
	for i := range 5 {
		v, err := g.videos.New(t.Context(), newParams(fmt.Sprintf("page %d", i), nil))
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, v.ID)
	}
	pager := g.videos.ListAutoPaging(t.Context(), openai.VideoListParams{Limit: openai.Int(1), Order: "asc"})
	var listed []string
	for pager.Next() {
		v := pager.Current()
		if slices.Contains(listed, v.ID) {
			t.Fatalf("%s is listed twice", v.ID)
		}
		listed = append(listed, v.ID)
		if _, err := g.videos.Get(t.Context(), v.ID); err != nil {
			t.Errorf("listed, but: %v", err)
		}
	}
	if err := pager.Err(); err != nil {
		t.Fatal(err)
	}
	// Videos of the same millisecond are listed in the order of their ids.
	slices.Sort(made)
	if len(listed) < 5 || !slices.Equal(listed[len(listed)-5:], made) {
		t.Errorf("listed %v, which does not end with %v", listed, made)
	}
}

// wantError checks an error of the SDK; empty wants are not compared.
func wantError(t *testing.T, err error, status int, code, param string) {
	t.Helper()
	var answer *openai.Error
	if !errors.As(err, &answer) {
		t.Errorf("got %v, want status %d", err, status)
		return
	}
	if answer.StatusCode != status || code != "" && answer.Code != code || param != "" && answer.Param != param {
		t.Errorf("got %d code %q param %q (%s), want %d %q %q", answer.StatusCode, answer.Code, answer.Param, answer.Message, status, code, param)
	}
}

// sdkPoll waits for a video of a stack with the SDK's own poller, which fails on any status that is not OpenAI's.
func sdkPoll(t *testing.T, s *stack, id string) (*openai.Video, error) {
	t.Helper()
	videos := sdk(s.balancer.url, "any").Videos
	return videos.PollStatus(t.Context(), id, 50)
}
