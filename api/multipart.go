package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"path"
	"slices"
	"strconv"
	"strings"
)

var (
	errPartHeader = errors.New("the header of a part is too long")
	errNoParts    = badRequest("", codeInvalidBody, "The multipart body is malformed or ends too early.")
)

// formReader reads a multipart body part by part as it arrives; nothing is held but text fields and the spools of files.
type formReader struct {
	server *Server
	rule   bodyRule
	parts  *multipart.Reader
	head   *headBudget
	out    *fields
	// large are the texts that are read when the whole form is there.
	large []largeText
}

// largeText is a text field under way that is longer than textFieldBytesMax.
type largeText struct {
	name string
	*spool
}

// decodeMultipart streams the form. Names may have brackets, parts may come in any order, and a part's own content type is not believed.
func (s *Server) decodeMultipart(ctx context.Context, body arriving, boundary string, rule bodyRule) (*fields, error) {
	if boundary == "" || len(boundary) > 70 {
		return nil, badRequest("", codeInvalidBody, "The Content-Type has no usable boundary.")
	}
	head := &headBudget{body: body}
	r := &formReader{server: s, rule: rule, head: head, parts: multipart.NewReader(head, boundary), out: &fields{values: map[string]any{}, form: true}}
	defer r.dropLarge()
	err := r.readAll()
	if err == nil {
		body.done()
		err = r.readLarge(ctx)
	}
	if err != nil {
		r.out.close()
		return nil, err
	}
	return r.out, nil
}

func (r *formReader) readAll() error {
	for count := 0; ; count++ {
		r.head.limit(partHeaderBytesMax)
		part, err := r.parts.NextPart()
		switch {
		case errors.Is(err, io.EOF): // after the final boundary alone: see headBudget
			return nil
		case errors.Is(err, errPartHeader):
			return tooLarge("", "The header of a part is longer than "+strconv.Itoa(partHeaderBytesMax)+" bytes.")
		case err != nil:
			return bodyError(cmp.Or(r.head.failed, err), errNoParts.message)
		case count >= partsMax:
			return tooLarge("", "The form has more than "+strconv.Itoa(partsMax)+" parts.")
		}
		r.head.lift()
		if err := r.readPart(part); err != nil {
			return err
		}
	}
}

func (r *formReader) readPart(part *multipart.Part) error {
	name := part.FormName()
	steps, err := parseName(name)
	if err != nil {
		return err
	}
	filename, isFile := fileName(part)
	if isFile {
		return r.readFile(part, name, steps, filename)
	}
	limit := textLimit(steps)
	if limit > promptBytesMax {
		return r.readLargeText(part, name, steps)
	}
	text, err := io.ReadAll(io.LimitReader(part, int64(limit)+1))
	if err != nil {
		return bodyError(err, errNoParts.message)
	}
	if len(text) > limit {
		if steps[0] == "prompt" {
			return promptTooLong()
		}
		return tooLong(steps[0], limit)
	}
	return r.out.put(name, string(text))
}

func tooLong(name string, limit int) error {
	return tooLarge(name, name+" is longer than "+strconv.Itoa(limit)+" bytes.")
}

// readLargeText takes a field that may be a data URL. What is longer than other fields may be waits, out of memory, for readLarge.
func (r *formReader) readLargeText(part *multipart.Part, name string, steps []string) error {
	text := largeText{name, newSpool(r.server.cfg.TempDir)}
	r.large = append(r.large, text)
	if err := r.server.receive(text.spool, io.LimitReader(part, multipartBytesMax+1)); err != nil {
		return bodyError(fmt.Errorf("api: receive a field: %w", err), errNoParts.message)
	}
	if text.size > multipartBytesMax {
		return tooLong(steps[0], multipartBytesMax)
	}
	if text.size > textFieldBytesMax {
		return nil
	}
	r.large = r.large[:len(r.large)-1] // it is all in memory, and its spool has no file to close
	return r.out.put(name, text.memory.String())
}

// dropLarge gives back the space of the texts that waited.
func (r *formReader) dropLarge() {
	for _, text := range r.large {
		_ = text.Close() // a file without a name: there is nothing left to lose
	}
}

// readLarge puts the texts that had to wait for their memory.
func (r *formReader) readLarge(ctx context.Context) error {
	size := int64(0)
	for _, text := range r.large {
		size += text.size
	}
	if size == 0 {
		return nil
	}
	if err := r.server.hold(ctx, r.out, size); err != nil {
		return err
	}
	for _, text := range r.large {
		var whole strings.Builder
		whole.Grow(int(text.size))
		if _, err := io.Copy(&whole, text.Reader()); err != nil {
			return err
		}
		if err := r.out.put(text.name, whole.String()); err != nil {
			return err
		}
	}
	return nil
}

// textLimit is in bytes.
func textLimit(steps []string) int {
	switch {
	case steps[0] == "prompt":
		return promptBytesMax
	case steps[0] == "input_reference", steps[len(steps)-1] == "image_url", steps[0] == "image", steps[0] == "image_path", steps[0] == "config", steps[0] == "extra_body", steps[0] == "extra_params", steps[0] == "extra_json":
		return multipartBytesMax
	}
	return textFieldBytesMax
}

// readFile spools a file part. A file input that was left empty in a browser is a part with neither a name nor bytes; it is no file.
func (r *formReader) readFile(part *multipart.Part, name string, steps []string, filename string) error {
	root := steps[0]
	if len(steps) > 1 || !slices.Contains(r.rule.files, root) {
		return badRequest(shown(name), codeUnknownParameter, "Unknown parameter: "+quoteName(shown(name))+". It does not take a file.")
	}
	file := &upload{filename: filename, spool: newSpool(r.server.cfg.TempDir)}
	r.out.uploads = append(r.out.uploads, file)
	most := r.rule.fileBytesMax(r.out)
	if err := r.server.receive(file.spool, io.LimitReader(part, most+1)); err != nil {
		return bodyError(fmt.Errorf("api: receive a file: %w", err), errNoParts.message)
	}
	r.server.metrics.uploads.Add(float64(file.size))
	switch {
	case file.size > most:
		return fileTooLarge(root, most)
	case file.size == 0 && filename == "":
		return nil
	case file.size == 0:
		return badRequest(root, codeInvalidValue, root+" is an empty file.")
	}
	if _, twice := r.out.values[root]; twice {
		return contradiction(root)
	}
	r.out.values[root] = file
	return nil
}

func fileTooLarge(name string, most int64) error {
	return tooLarge(name, name+" is larger than "+strconv.FormatInt(most, 10)+" bytes.")
}

// fileName tells files from text fields: by a filename, or without one by a content type that is not text.
func fileName(part *multipart.Part) (filename string, isFile bool) {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err == nil {
		if filename, isFile = params["filename"]; isFile {
			return cleanFilename(filename), true
		}
	}
	mediaType, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
	if err != nil || strings.HasPrefix(mediaType, "text/") || mediaType == "application/json" {
		return "", false
	}
	return "", true
}

// cleanFilename keeps what may be shown of a client's file name: its last element, bounded and without control characters.
func cleanFilename(name string) string {
	name = strings.ToValidUTF8(strings.ReplaceAll(name, "\\", "/"), "")
	name = strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, path.Base("/"+name))
	if name == "/" || name == "." {
		return ""
	}
	if runes := []rune(name); len(runes) > filenameRunesMax {
		name = string(runes[:filenameRunesMax])
	}
	return name
}

// headBudget bounds what the multipart reader may take in while it looks for the next part's body: boundary, header and padding. At the
// end of the body it adds a line break and then says that the end is unexpected, so that only a final boundary, and never a body that was
// cut off, looks like the end of the form.
type headBudget struct {
	body    io.Reader
	left    int
	limited bool
	// tail is what is still to be added, ended whether the body has ended.
	tail  string
	ended bool
	// failed is why the body could not be read on; the reader above makes a malformed line of it where one was under way.
	failed error
}

func (b *headBudget) limit(n int) { b.left, b.limited = n, true }
func (b *headBudget) lift()       { b.limited = false }

// Read passes bytes on while the budget lasts.
func (b *headBudget) Read(p []byte) (int, error) {
	if b.ended {
		n := copy(p, b.tail)
		b.tail = b.tail[n:]
		if n > 0 {
			return n, nil
		}
		return 0, io.ErrUnexpectedEOF
	}
	if b.limited {
		if b.left <= 0 {
			return 0, errPartHeader
		}
		p = p[:min(len(p), b.left)]
	}
	n, err := b.body.Read(p)
	b.left -= n
	if errors.Is(err, io.EOF) {
		b.ended, b.tail, err = true, "\r\n", nil
	}
	b.failed = err
	return n, err
}
