package tracing

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	api "go.opentelemetry.io/otel/trace"
)

// Span is a piece of work. Nil is one that is not watched.
type Span struct{ span api.Span }

// Text attaches a fact; an empty one is left out.
func (s *Span) Text(name, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(name, value))
	}
}

// Number attaches a number.
func (s *Span) Number(name string, value int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(name, value))
	}
}

// Name renames it, where what it is shows late.
func (s *Span) Name(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// Fail marks it as failed, with a chosen word and never an error's own text.
func (s *Span) Fail(word string) {
	if s != nil {
		s.span.SetStatus(codes.Error, word)
	}
}

// End ends it.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}

// EndAt ends it in the past.
func (s *Span) EndAt(at time.Time) {
	if s != nil {
		s.span.End(api.WithTimestamp(at))
	}
}
