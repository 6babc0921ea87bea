package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
)

// part is one part of a form, written exactly as it is given.
type part struct {
	// header is the part's header; "" makes that of a text field called name.
	name, header, body string
}

// field is a text field, as all SDKs write it.
func field(name, value string) part { return part{name: name, body: value} }

// file is a file part; the content type is left out when it is "".
func file(name, filename, contentType string, data []byte) part {
	header := fmt.Sprintf(`Content-Disposition: form-data; name=%q; filename="%s"`, name, filename)
	if contentType != "" {
		header += "\r\nContent-Type: " + contentType
	}
	return part{header: header, body: string(data)}
}

const boundary = "openai-0123456789"

func form(parts ...part) string {
	var b strings.Builder
	for _, p := range parts {
		header := p.header
		if header == "" {
			header = fmt.Sprintf(`Content-Disposition: form-data; name="%s"`, p.name)
		}
		b.WriteString("--" + boundary + "\r\n" + header + "\r\n\r\n" + p.body + "\r\n")
	}
	return b.String() + "--" + boundary + "--\r\n"
}

func (s *stack) postForm(t testing.TB, path string, parts ...part) reply {
	t.Helper()
	return s.request(t, "POST", path, strings.NewReader(form(parts...)), "Content-Type", "multipart/form-data; boundary="+boundary)
}

// TestEncodingsOfTheSDKs sends one request in every way that the official clients do, and wants one and the same job.
func TestEncodingsOfTheSDKs(t *testing.T) {
	s := newStack(t)
	picture := testPNG(t, 64, 64)
	url64 := dataURL(picture)
	rest := []part{field("model", "terrain"), field("prompt", "a lake"), field("seconds", "2"), field("size", "64x64"), field("seed", "0")}
	ways := map[string][]part{
		"js buffer":             append([]part{file("input_reference", "in.png", "application/octet-stream", picture)}, rest...),
		"go reader":             append([]part{file("input_reference", "anonymous_file", "application/octet-stream", picture)}, rest...),
		"python bytes":          append(rest[:len(rest):len(rest)], file("input_reference", "upload", "image/png", picture)),
		"no part type":          append([]part{file("input_reference", "x", "", picture)}, rest...),
		"lying part type":       append([]part{file("input_reference", "x.jpg", "image/jpeg", picture)}, rest...),
		"text part type":        append([]part{file("input_reference", "x.txt", "text/plain", picture)}, rest...),
		"no filename":           append([]part{{header: "Content-Disposition: form-data; name=\"input_reference\"\r\nContent-Type: image/png", body: string(picture)}}, rest...),
		"file last":             append(rest[:len(rest):len(rest)], file("input_reference", "in.png", "", picture)),
		"bracket url":           append([]part{field("input_reference[image_url]", url64)}, rest...),
		"JSON text":             append([]part{field("input_reference", `{"image_url":"`+url64+`"}`)}, rest...),
		"plain data URL":        append([]part{field("input_reference", url64)}, rest...),
		"bare base64":           append([]part{field("input_reference", strings.TrimPrefix(url64, "data:image/png;base64,"))}, rest...),
		"extra_body object":     append([]part{field("extra_body", `{"input_reference":{"image_url":"`+url64+`"},"seed":5}`)}, rest...),
		"extra_body brackets":   append([]part{field("extra_body[input_reference][image_url]", url64)}, rest...),
		"seed in extra_params":  {file("input_reference", "a", "", picture), field("model", "terrain"), field("prompt", "a lake"), field("seconds", "2"), field("size", "64x64"), field("extra_params", `{"seed":0}`)},
		"seed in brackets":      {file("input_reference", "a", "", picture), field("model", "terrain"), field("prompt", "a lake"), field("seconds", "2"), field("size", "64x64"), field("extra_params[seed]", "0")},
		"null for absent":       append([]part{file("input_reference", "a", "", picture), field("camera", "null"), field("fps", "null"), field("metadata", "null"), field("n", "null")}, rest...),
		"text for numbers":      append([]part{file("input_reference", "a", "", picture), field("fps", "16"), field("n", "1"), field("speed", "1")}, rest...),
		"empty other file":      append([]part{file("input_reference", "a", "", picture), {header: `Content-Disposition: form-data; name="input_reference"; filename=""`}}, rest...),
		"width and height":      {file("input_reference", "a", "", picture), field("model", "terrain"), field("prompt", "a lake"), field("seconds", "02"), field("width", "64"), field("height", "64"), field("seed", "0")},
		"frames for seconds":    {file("input_reference", "a", "", picture), field("model", "terrain"), field("prompt", "a lake"), field("seconds", "2"), field("num_frames", "32"), field("size", "64x64"), field("seed", "0")},
		"part headers of py":    append([]part{{header: "Content-Disposition: form-data; name=\"input_reference\"; filename=\"upload\"\r\nContent-Type: application/octet-stream", body: string(picture)}}, rest...),
		"unquoted names":        {{header: "Content-Disposition: form-data; name=prompt", body: "a lake"}, file("input_reference", "a", "", picture), field("model", "terrain"), field("seconds", "2"), field("size", "64x64"), field("seed", "0")},
		"the picture's size":    {file("input_reference", "a", "", picture), field("model", "terrain"), field("prompt", "a lake"), field("seconds", "2"), field("seed", "0")},
		"sora with a size":      append([]part{file("input_reference", "a", "", picture)}, rest...),
		"explicit wins extras":  append([]part{file("input_reference", "a", "", picture), field("extra_params[size]", "128x128"), field("extra_body", `{"seconds":"9"}`)}, rest...),
		"js filename escape":    append([]part{file("input_reference", "a%22b.png", "", picture)}, rest...),
		"utf-8 filename":        append([]part{file("input_reference", "猫.png", "", picture)}, rest...),
		"path as a filename":    append([]part{file("input_reference", "../../../tmp/evil.png", "", picture)}, rest...),
		"absolute filename":     append([]part{file("input_reference", "/etc/x", "", picture)}, rest...),
		"windows filename":      append([]part{file("input_reference", "CON", "", picture)}, rest...),
		"long filename":         append([]part{file("input_reference", strings.Repeat("n", 4000), "", picture)}, rest...),
		"preamble in the parts": append([]part{file("input_reference", "a\\b\\c.png", "", picture)}, rest...),
	}
	for name, parts := range ways {
		t.Run(name, func(t *testing.T) { sameJob(t, s, s.postForm(t, "/v1/videos", parts...), "i2v") })
	}
	t.Run("chunked without length", func(t *testing.T) {
		body := io.MultiReader(strings.NewReader(form(ways["js buffer"]...)))
		sameJob(t, s, s.request(t, "POST", "/v1/videos", body, "Content-Type", "multipart/form-data; boundary="+boundary), "i2v")
	})
	for name, body := range map[string]string{
		"JSON object":        `{"model":"terrain","prompt":"a lake","seconds":"2","size":"64x64","seed":0,"input_reference":{"image_url":"` + url64 + `"}}`,
		"JSON numbers":       `{"model":"terrain","prompt":"a lake","seconds":2,"width":64,"height":64,"seed":0,"input_reference":{"image_url":"` + url64 + `"}}`,
		"JSON data URL":      `{"model":"terrain","prompt":"a lake","seconds":"02","size":"64x64","seed":"0","input_reference":"` + url64 + `"}`,
		"JSON extras":        `{"model":"terrain","prompt":"a lake","seconds":2.0,"size":"64x64","extra_params":{"seed":0},"extra_body":{"input_reference":{"image_url":"` + url64 + `"}},"metadata":null}`,
		"JSON extra_json":    `{"model":"terrain","prompt":"a lake","seconds":2,"size":"64x64","extra_json":{"seed":0},"input_reference":{"image_url":"` + url64 + `","file_id":null}}`,
		"JSON text extras":   `{"model":"terrain","prompt":"a lake","seconds":2,"size":"64x64","extra_params":"{\"seed\":0}","input_reference":{"image_url":"` + url64 + `"}}`,
		"JSON escaped slash": `{"model":"terrain","prompt":"a lake","seconds":2,"size":"64x64","seed":0,"input_reference":{"image_url":"` + strings.ReplaceAll(url64, "/", `\/`) + `"}}`,
	} {
		t.Run(name, func(t *testing.T) { sameJob(t, s, s.postJSON(t, "/v1/videos", body), "i2v") })
	}
	s.noTempFiles(t)
}

// sameJob wants the one job that all encodings of TestEncodingsOfTheSDKs mean.
func sameJob(t *testing.T, s *stack, r reply, task string) {
	t.Helper()
	v := r.object(t, 200)
	id, _ := v["id"].(string)
	job, err := s.jobs.Get(t.Context(), "local", id)
	if err != nil {
		t.Fatal(err)
	}
	spec := job.Spec
	if spec.Task != task || spec.Model != "terrain" || spec.Prompt != "a lake" || spec.Seconds != "2" || spec.Frames != 32 || spec.Width != 64 || spec.Height != 64 || spec.Seed != 0 || spec.FPS != 16 {
		t.Errorf("the job is %+v", spec)
	}
	if task == "i2v" && spec.ImageKey != "inputs/"+id+"/reference.png" {
		t.Errorf("the picture lies at %q", spec.ImageKey)
	}
	if v["seconds"] != "2" || v["seed"] != json.Number("0") || v["size"] != "64x64" {
		t.Errorf("the answer is %v", v)
	}
}

func TestWithoutAFileAllEncodingsMeanTheSame(t *testing.T) {
	s := newStack(t)
	values := url.Values{"model": {"terrain"}, "prompt": {"a lake"}, "seconds": {"2"}, "size": {"64x64"}, "extra_params[seed]": {"0"}, "metadata[a]": {"b"}}
	var parts []part
	for name, list := range values {
		parts = append(parts, field(name, list[0]))
	}
	sameJob(t, s, s.postForm(t, "/v1/videos", parts...), "t2v")
	sameJob(t, s, s.request(t, "POST", "/v1/videos", strings.NewReader(values.Encode()), "Content-Type", "application/x-www-form-urlencoded"), "t2v")
	sameJob(t, s, s.request(t, "POST", "/v1/videos", strings.NewReader(values.Encode()), "Content-Type", "application/x-www-form-urlencoded; charset=UTF-8"), "t2v")
	sameJob(t, s, s.postJSON(t, "/v1/videos", map[string]any{"model": "terrain", "prompt": "a lake", "seconds": 2, "size": "64x64", "extra_params": map[string]any{"seed": 0}, "metadata": map[string]any{"a": "b"}}), "t2v")
}

// TestPicturesOfAllTypes accepts what OpenAI does, told apart by its bytes.
func TestPicturesOfAllTypes(t *testing.T) {
	s := newStack(t)
	for codec, extension := range map[string]string{"png": "png", "mjpeg": "jpg", "libwebp": "webp"} {
		data := testImage(t, 64, 64, codec, extension)
		v := s.postForm(t, "/v1/videos", field("model", "terrain"), field("prompt", "a"), field("size", "64x64"), file("input_reference", "any.bin", "application/octet-stream", data)).object(t, 200)
		id, _ := v["id"].(string)
		body, _, err := s.store.Open(t.Context(), "inputs/"+id+"/reference.png", 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := io.ReadAll(body)
		_ = body.Close()
		if err != nil || !bytes.HasPrefix(stored, []byte("\x89PNG\r\n\x1a\n")) {
			t.Errorf("%s: what is stored is no clean PNG: %.8q %v", codec, stored, err)
		}
	}
}

// TestGoWriter sends the form of Go's own multipart writer, whose part headers come in another order.
func TestGoWriter(t *testing.T) {
	s := newStack(t)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	header := textproto.MIMEHeader{}
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", `form-data; name="input_reference"; filename="anonymous_file"`)
	picture, err := w.CreatePart(header)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = picture.Write(testPNG(t, 64, 64))
	for _, p := range [][2]string{{"model", "terrain"}, {"prompt", "a lake"}, {"seconds", "2"}, {"size", "64x64"}, {"seed", "0"}} {
		_ = w.WriteField(p[0], p[1])
	}
	_ = w.Close()
	sameJob(t, s, s.request(t, "POST", "/v1/videos", &body, "Content-Type", w.FormDataContentType()), "i2v")
}

// TestThePictureMustHaveTheSize in both directions, whoever named the size.
func TestThePictureMustHaveTheSize(t *testing.T) {
	s := newStack(t)
	picture := file("input_reference", "a.png", "", testPNG(t, 64, 96))
	for _, size := range []string{"64x64", "96x96", "96x64", "64x98", "66x96"} {
		p := s.postForm(t, "/v1/videos", picture, field("prompt", "a"), field("model", "terrain"), field("size", size)).problem(t, 400)
		if message, _ := p["message"].(string); p["param"] != "input_reference" || !strings.HasPrefix(message, "Inpaint image must match the requested width and height") {
			t.Errorf("%s: %v", size, p)
		}
	}
	s.postForm(t, "/v1/videos", picture, field("prompt", "a")).problem(t, 400) // OpenAI's default size is not the picture's
	odd := file("input_reference", "a.png", "", testPNG(t, 65, 97))
	if p := s.postForm(t, "/v1/videos", odd, field("prompt", "a"), field("model", "terrain")).problem(t, 400); p["param"] != "input_reference" {
		t.Errorf("a size that the pipeline does not take: %v", p)
	}
	if v := s.postForm(t, "/v1/videos", picture, field("prompt", "a"), field("model", "terrain")).object(t, 200); v["size"] != "64x96" {
		t.Errorf("the picture's own size: %v", v)
	}
}
