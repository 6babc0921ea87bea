package api

import (
	"strconv"
	"time"

	"telefuser/openapi"
	"telefuser/streaming"
)

// sessionTicket is the answer to a create.
func (s *Server) sessionTicket(r streaming.Session, token string, ignored []string) openapi.SessionTicket {
	ticket := openapi.SessionTicket{SessionID: r.ID, Room: r.Room, LivekitURL: s.deps.Rooms.URL(), Token: token, WorkerID: orNull(r.Worker),
		Status: openapi.SessionStatus(r.Status), ExpiresAt: orNullTime(r.ExpiresAt), QueuePosition: orNullCount(r.Position), Seed: &r.Spec.Seed}
	if ticket.ExpiresAt == nil && r.Worker != "" { // its worker begins with it at any moment
		ends := unixSeconds(r.CreatedAt.Add(r.Spec.SessionTimeout))
		ticket.ExpiresAt = &ends
	}
	if len(ignored) > 0 {
		ticket.Ignored = &ignored
	}
	return ticket
}

// sessionObject is a session as its owner sees it.
func sessionObject(r streaming.Session) openapi.Session {
	object := openapi.Session{
		SessionID: r.ID, Room: r.Room, Status: openapi.SessionStatus(r.Status), WorkerID: orNull(r.Worker), CreatedAt: unixSeconds(r.CreatedAt),
		UpdatedAt: unixSeconds(r.UpdatedAt), ExpiresAt: orNullTime(r.ExpiresAt), ParticipantCount: r.Participants, QueuePosition: orNullCount(r.Position),
		Pipeline: r.Spec.Pipeline, Prompt: r.Spec.Prompt, Size: sizeText(r.Spec.Width, r.Spec.Height), Fps: r.Spec.FPS, NumFrames: orNullCount(r.Spec.Frames),
		Seed: r.Spec.Seed, DeliveryMode: openapi.SessionDeliveryMode(r.Spec.Delivery), Controller: r.Spec.Controller, Reason: orNull(r.Reason),
		Message: orNull(r.Message), StartedAt: orNullTime(r.StartedAt), EndedAt: orNullTime(r.EndedAt), Outcome: orNull(r.Outcome), Facts: sessionFacts(r.Facts),
	}
	if r.Epoch > 0 {
		object.PipelineSessionID = orNull(r.ID + "." + strconv.Itoa(r.Epoch))
	}
	if r.Status == streaming.StatusFailed {
		object.Error = object.Message
	}
	return object
}

func sessionFacts(f streaming.Facts) openapi.SessionFacts {
	return openapi.SessionFacts{GeneratedFrames: f.GeneratedFrames, PublishedFrames: f.PublishedFrames, DroppedFrames: f.DroppedFrames, Chunks: f.Chunks,
		ConfirmedFrames: f.ConfirmedFrames, FirstFrameSeconds: orNullSeconds(f.FirstFrameNS), EncodeSeconds: orNullSeconds(f.EncodeNS)}
}

// unixSeconds is a moment as clients of live sessions read it, to the millisecond.
func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// orNullTime makes null of a moment that has not come.
func orNullTime(t time.Time) *float64 {
	if t.IsZero() {
		return nil
	}
	seconds := unixSeconds(t)
	return &seconds
}

// orNullCount makes null of 0 where it means that there is none.
func orNullCount(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// orNullSeconds makes seconds of nanoseconds.
func orNullSeconds(ns *int64) *float64 {
	if ns == nil {
		return nil
	}
	seconds := time.Duration(*ns).Seconds()
	return &seconds
}
