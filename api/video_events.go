package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/openapi"
)

// streamEvents answers GET /v1/videos/{video_id}/events: the video at each change until it has ended.
func (s *Server) streamEvents(c echo.Context) error {
	ctx, stop := context.WithCancel(c.Request().Context())
	defer stop()
	seen, err := lastEventID(c.Request().Header.Get("Last-Event-Id"))
	if err != nil {
		return err
	}
	job, err := s.ownVideo(ctx, c)
	if err != nil {
		return err
	}
	if seen > job.Revision {
		seen = -1 // an id of another record: this one was rebuilt from the store, or the client made it up
	}
	if job.State.Terminal() && seen == job.Revision {
		return c.NoContent(http.StatusNoContent) // which tells a browser not to come again
	}
	if s.streams.Add(1) > int64(s.cfg.EventStreamsMax) {
		s.streams.Add(-1)
		return &problem{status: http.StatusTooManyRequests, typ: typeRateLimit, code: codeTooManyStreams, retryAfter: queueFullRetryAfter,
			message: "Too many event streams are open. Poll the video instead, or try again."}
	}
	defer s.streams.Add(-1)
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	changes, unsubscribe := s.deps.Jobs.Subscribe(ctx, job.ID)
	defer unsubscribe()
	stream := newEventStream(c, s.cfg.StallTimeout)
	return s.follow(ctx, c, stream, job, seen, changes)
}

// follow sends the video whenever its revision is a new one. Its errors end the stream; the answer has begun, so nobody reads them.
func (s *Server) follow(ctx context.Context, c echo.Context, stream *eventStream, job jobs.Job, seen int64, changes <-chan struct{}) error {
	heartbeat := time.NewTicker(s.cfg.EventHeartbeat)
	defer heartbeat.Stop()
	for {
		if job.Revision > seen {
			v := s.placed(jobs.WithPatience(ctx), job)[0] // a stream has as much for each look
			if err := stream.send("video", strconv.FormatInt(job.Revision, 10), v); err != nil {
				return nil // the client went away
			}
			seen = job.Revision
		}
		if job.State.Terminal() {
			return nil
		}
		var open bool
		select {
		case <-ctx.Done():
			return nil
		case <-s.stopping:
			return nil
		case <-heartbeat.C:
			if stream.comment("keep-alive") != nil {
				return nil
			}
			continue
		case _, open = <-changes:
		}
		if !open {
			return nil
		}
		next, err := s.deps.Jobs.Get(jobs.WithPatience(ctx), callerOf(c).tenant, job.ID)
		switch {
		case errors.Is(err, jobs.ErrNotFound):
			_ = stream.send("video.deleted", "", openapi.VideoDeleted{ID: job.ID, Object: openapi.VideoDeletedObjectVideoDeleted, Deleted: true})
			return nil
		case err != nil:
			continue // Redis may come back; the next nudge reads again
		}
		job = next
	}
}

// lastEventID is the revision that a client has seen; -1 where it has seen none.
func lastEventID(text string) (int64, error) {
	if text == "" {
		return -1, nil
	}
	seen, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seen < 0 {
		return 0, badRequest("Last-Event-ID", codeInvalidValue, "Last-Event-ID must be the id of an event of this stream.")
	}
	return seen, nil
}

// eventStream writes server-sent events.
type eventStream struct {
	response *echo.Response
	conn     *http.ResponseController
	stall    time.Duration
}

func newEventStream(c echo.Context, stall time.Duration) *eventStream {
	response := c.Response()
	response.Header().Set("Content-Type", "text/event-stream")
	response.Header().Set("X-Accel-Buffering", "no")
	response.WriteHeader(http.StatusOK)
	return &eventStream{response: response, conn: http.NewResponseController(response), stall: stall}
}

// send writes one event with a JSON body of one line.
func (e *eventStream) send(event, id string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	message := "event: " + event + "\n"
	if id != "" {
		message += "id: " + id + "\n"
	}
	return e.write(message + "data: " + string(text) + "\n\n")
}

// comment keeps proxies from closing a silent connection.
func (e *eventStream) comment(text string) error { return e.write(": " + text + "\n\n") }

func (e *eventStream) write(text string) error {
	_ = e.conn.SetWriteDeadline(time.Now().Add(e.stall)) // a writer without a connection, as in tests, has no deadlines
	if _, err := e.response.Write([]byte(text)); err != nil {
		return err
	}
	return e.conn.Flush()
}
