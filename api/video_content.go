package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/storage"
)

// variant is one downloadable file of a video.
type variant struct {
	key, contentType, filename string
}

// variantOf finds the file that is asked for by name.
func variantOf(name, id string, r jobs.Result) (variant, error) {
	switch name {
	case "", "video":
		return variant{r.VideoKey, "video/mp4", id + ".mp4"}, nil
	case "thumbnail":
		return variant{r.ThumbnailKey, "image/webp", id + ".webp"}, nil
	case "spritesheet":
		return variant{r.SpritesheetKey, "image/jpeg", id + ".jpg"}, nil
	}
	return variant{}, badRequest("variant", codeInvalidValue, "variant must be video, thumbnail or spritesheet.")
}

// downloadVideo answers GET and HEAD of /v1/videos/{video_id}/content.
func (s *Server) downloadVideo(c echo.Context) error {
	ctx := c.Request().Context()
	query, err := queryOf(c, "variant")
	if err != nil {
		return err
	}
	if _, err := variantOf(query.Get("variant"), "", jobs.Result{}); err != nil {
		return err
	}
	job, err := s.ownVideo(ctx, c)
	if err != nil {
		return err
	}
	if job.State != jobs.StateCompleted || job.Result == nil {
		return notReady(job)
	}
	file, err := variantOf(query.Get("variant"), job.ID, *job.Result)
	if err != nil {
		return err
	}
	if s.cfg.RedirectContent && c.Request().Method == http.MethodGet {
		return s.redirect(ctx, c, file)
	}
	return s.serveObject(c, file.key, file.contentType, disposition("inline", file.filename))
}

// notReady is 404 and not 409, which every SDK would try again three times at once.
func notReady(job jobs.Job) error {
	p := problem{status: http.StatusNotFound, typ: typeInvalidRequest, code: codeVideoNotReady, param: "video_id", noRetry: true,
		message: "The video is " + string(job.State) + "; its content can be downloaded when it is completed."}
	if job.State == jobs.StateFailed {
		p.code, p.message = codeVideoFailed, "The video failed and has no content."
	}
	return &p
}

// redirect sends the client to the store itself, under an address that ends soon.
func (s *Server) redirect(ctx context.Context, c echo.Context, file variant) error {
	address, err := s.deps.Store.Sign(ctx, file.key, storage.SignOptions{TTL: s.cfg.RedirectTTL, Filename: file.filename, ContentType: file.contentType})
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusFound, address)
}
