package streaming

import (
	"context"

	"telefuser/internal/tracing"
)

// trace begins the span of the epoch within the trace of the request that made the session, and tells how long the session waited for its claim.
func (r *run) trace(ctx context.Context) context.Context {
	t, s := r.cfg.Tracer, r.claim.session
	ctx = t.Join(ctx, s.Spec.TraceParent)
	if r.claim.waited > 0 {
		_, waited := t.StartAt(ctx, "session.claim", r.claimed.Add(-r.claim.waited))
		waited.Text("telefuser.session_id", s.ID)
		waited.EndAt(r.claimed)
	}
	ctx, r.spans.epoch = t.Start(ctx, "session")
	r.spans.epoch.Text("telefuser.session_id", s.ID)
	r.spans.epoch.Text("telefuser.pipeline", s.Spec.Pipeline)
	r.spans.epoch.Text("telefuser.worker_id", r.claim.worker)
	r.spans.epoch.Number("telefuser.epoch", s.Epoch)
	_, r.spans.first = t.StartAt(ctx, "session.first_frame", r.claimed)
	return ctx
}

// spans are the epoch, and its way to the first frame, which is nil once that was shown.
type spans struct{ epoch, first *tracing.Span }

// traced ends what is still open, with what became of the epoch.
func (r *run) traced(reason string) {
	if r.spans.first != nil {
		r.spans.first.Fail("none was shown")
		r.spans.first.End()
	}
	r.spans.epoch.Text("telefuser.reason", reason)
	if endings[reason].status == StatusFailed {
		r.spans.epoch.Fail(reason)
	}
	r.spans.epoch.End()
}
