package workers

import (
	"context"

	"telefuser/internal/tracing"
)

// trace begins the span of the attempt within the trace of the request that made its job, and tells afterwards how long the job waited.
func (a *attempt) trace(ctx context.Context) (context.Context, *tracing.Span) {
	t := a.worker.cfg.Tracer
	ctx = t.Join(ctx, a.spec.TraceParent)
	if created, started := a.claim.Job.CreatedAt, a.claim.Job.StartedAt; a.claim.Attempt == 1 && !created.IsZero() && started.After(created) {
		_, waited := t.StartAt(ctx, "ticket", created)
		waited.Text("telefuser.job_id", a.claim.ID)
		waited.EndAt(started)
	}
	ctx, span := t.Start(ctx, "attempt")
	span.Text("telefuser.job_id", a.claim.ID)
	span.Number("telefuser.attempt", a.claim.Attempt)
	span.Text("telefuser.pipeline", a.spec.Pipeline)
	span.Text("telefuser.request_id", a.spec.RequestID)
	return ctx, span
}
