package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/openapi"
)

// ownVideo finds the caller's video of the path. A malformed id, a missing video and another tenant's are one answer.
func (s *Server) ownVideo(ctx context.Context, c echo.Context) (jobs.Job, error) {
	id := c.Param("video_id")
	if reservedID(id) {
		return jobs.Job{}, reservedMethod(c)
	}
	if !jobs.ValidID(id) {
		return jobs.Job{}, notFound("video_id", "video")
	}
	job, err := s.deps.Jobs.Get(ctx, callerOf(c).tenant, id)
	if errors.Is(err, jobs.ErrNotFound) {
		return jobs.Job{}, notFound("video_id", "video")
	}
	if err == nil {
		c.Set(jobIDKey, id)
	}
	return job, err
}

// getVideo answers GET /v1/videos/{video_id}. A failed video is still a successful answer.
func (s *Server) getVideo(c echo.Context) error {
	ctx := c.Request().Context()
	job, err := s.ownVideo(ctx, c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, s.describeVideo(ctx, c, job))
}

// listVideos answers GET /v1/videos.
func (s *Server) listVideos(c echo.Context) error {
	q, err := pageQuery(c, videosLimitDefault, 0, videosLimitMax, jobs.ValidID)
	if err != nil {
		return err
	}
	list := openapi.VideoList{Object: openapi.VideoListObjectList, Data: []openapi.Video{}}
	if q.Limit == 0 { // nothing was asked for: an empty page that ends a pager
		return c.JSON(http.StatusOK, list)
	}
	page, more, err := s.deps.Jobs.List(c.Request().Context(), callerOf(c).tenant, q)
	if err != nil {
		return err
	}
	list.Data = append(list.Data, s.placed(c.Request().Context(), page...)...)
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID, list.HasMore = &list.Data[0].ID, &list.Data[n-1].ID, more
	}
	return c.JSON(http.StatusOK, list)
}

// pageQuery reads limit, order and after.
func pageQuery(c echo.Context, limit, least, most int, validID func(string) bool) (jobs.ListQuery, error) {
	query, err := queryOf(c, "limit", "order", "after")
	if err != nil {
		return jobs.ListQuery{}, err
	}
	q := jobs.ListQuery{Limit: limit, Descending: true, After: query.Get("after")}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return q, badRequest("limit", codeInvalidValue, "limit must be a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most)+".")
		}
		q.Limit = n
	}
	switch query.Get("order") {
	case "", "desc":
	case "asc":
		q.Descending = false
	default:
		return q, badRequest("order", codeInvalidValue, "order must be asc or desc.")
	}
	if q.After != "" && !validID(q.After) {
		return q, badRequest("after", codeInvalidValue, "after must be the id of an object of this list.")
	}
	return q, nil
}

// queryOf reads the query strictly: what does not parse is not passed over, and the names that are given once are.
func queryOf(c echo.Context, once ...string) (url.Values, error) {
	query, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return nil, badRequest("", codeInvalidValue, "The query of the URL is malformed.")
	}
	for _, name := range once {
		if len(query[name]) > 1 {
			return nil, badRequest(name, codeInvalidValue, name+" is given more than once.")
		}
	}
	return query, nil
}

// deleteVideo answers DELETE /v1/videos/{video_id}, in any state. A running job is stopped; its worker finds out by itself.
func (s *Server) deleteVideo(c echo.Context) error {
	ctx, id := c.Request().Context(), c.Param("video_id")
	if reservedID(id) {
		return reservedMethod(c)
	}
	if !jobs.ValidID(id) {
		return notFound("video_id", "video")
	}
	job, err := s.deps.Jobs.Delete(ctx, callerOf(c).tenant, id)
	if errors.Is(err, jobs.ErrNotFound) {
		return notFound("video_id", "video")
	}
	if err != nil {
		return err
	}
	c.Set(jobIDKey, id)
	if job.Result != nil && job.Result.ManifestKey != "" {
		s.forget(ctx, job.Result.ManifestKey)
	}
	return c.JSON(http.StatusOK, openapi.VideoDeleted{ID: id, Object: openapi.VideoDeletedObjectVideoDeleted, Deleted: true})
}

// forget removes the manifest at once where it can, so that no rebuild brings a deleted video back; the rest is garbage by now and goes
// with the next sweep.
func (s *Server) forget(ctx context.Context, manifestKey string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_ = s.deps.Store.Delete(ctx, manifestKey) // the sweep comes again
}
