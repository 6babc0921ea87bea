package tracing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
)

// complainEvery is the pause between two lines about a receiver that does not take spans.
const complainEvery = time.Minute

// quiet keeps a receiver's troubles to a line a minute: by itself the library writes to standard error.
type quiet struct {
	trace.SpanExporter
	log *slog.Logger

	mu   sync.Mutex
	said time.Time
}

// ExportSpans sends spans. It never fails: what was not taken is dropped.
func (q *quiet) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	err := q.SpanExporter.ExportSpans(ctx, spans)
	if err == nil || q.log == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.said) > complainEvery {
		q.said = time.Now()
		q.log.WarnContext(ctx, "traces are dropped: their receiver does not take them", "error", err)
	}
	return nil
}
