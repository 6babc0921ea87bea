package api

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/openapi"
	"telefuser/storage"
)

// createCharacter answers POST /v1/videos/characters: it keeps a clip under a name.
func (s *Server) createCharacter(c echo.Context) error {
	ctx, who := c.Request().Context(), callerOf(c)
	if err := s.limitUpload(c, who); err != nil {
		return err
	}
	f, err := s.decodeBody(c, bodyRule{multipartOnly: true, files: []string{"video"}})
	if err != nil {
		return err
	}
	defer f.close()
	name, clip, err := takeCharacter(f)
	if err != nil {
		return err
	}
	container := clipType(clip.Head(16))
	if container == "" {
		return badRequest("video", codeInvalidValue, "video must be an MP4, MOV or WebM file.")
	}
	id := jobs.NewCharacterID(time.Now())
	record := jobs.CharacterRecord{ID: id, Tenant: who.tenant, Name: name, Key: "characters/" + id + "/clip", SizeBytes: clip.size}
	if err := s.storeStaged(ctx, record.Key, clip.Reader(), storage.PutOptions{ContentType: container, SizeBytes: clip.size, SHA256: clip.SHA256()}); err != nil {
		return err
	}
	if record, err = s.deps.Jobs.PutCharacter(ctx, record); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, character(record))
}

// takeCharacter takes both fields, and nothing else may be there.
func takeCharacter(f *fields) (string, *upload, error) {
	name, err := takeText(f, "name")
	if err != nil {
		return "", nil, err
	}
	if strings.TrimSpace(name) == "" || utf8.RuneCountInString(name) > characterNameRunesMax {
		return "", nil, badRequest("name", codeInvalidValue, "name must be text of 1 to 80 characters that is not blank.")
	}
	value, given := f.take("video")
	if !given {
		return "", nil, badRequest("video", codeMissingParameter, "Missing required parameter: \"video\".")
	}
	clip, isFile := value.(*upload)
	if !isFile {
		return "", nil, badRequest("video", codeInvalidType, "Invalid type for 'video': expected a file, but got "+kind(value)+" instead.")
	}
	return name, clip, refuseRest(f)
}

// refuseRest is for routes whose fields are all known.
func refuseRest(f *fields) error {
	for _, name := range sortedNames(f.values) {
		return badRequest(shown(name), codeUnknownParameter, "Unknown parameter: "+quoteName(shown(name))+".")
	}
	return nil
}

// clipType tells a video container by its first bytes; "" where it is none of the three.
func clipType(head []byte) string {
	switch {
	case len(head) >= 12 && string(head[4:8]) == "ftyp" && string(head[8:12]) == "qt  ":
		return "video/quicktime"
	case len(head) >= 12 && string(head[4:8]) == "ftyp":
		return "video/mp4"
	case bytes.HasPrefix(head, []byte{0x1a, 0x45, 0xdf, 0xa3}):
		return "video/webm"
	}
	return ""
}

// getCharacter answers GET /v1/videos/characters/{character_id}.
func (s *Server) getCharacter(c echo.Context) error {
	id := c.Param("character_id")
	if !jobs.ValidCharacterID(id) {
		return notFound("character_id", "character")
	}
	record, err := s.deps.Jobs.GetCharacter(c.Request().Context(), callerOf(c).tenant, id)
	if errors.Is(err, jobs.ErrNotFound) {
		return notFound("character_id", "character")
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, character(record))
}

func character(r jobs.CharacterRecord) openapi.Character {
	return openapi.Character{ID: &r.ID, Name: &r.Name, CreatedAt: r.CreatedAt.Unix()}
}
