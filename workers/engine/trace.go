package engine

import (
	"context"

	"google.golang.org/grpc/metadata"

	"telefuser/internal/tracing"
)

// placeKey names the metadata of a call that holds its place in a trace.
const placeKey = "traceparent"

// sendPlace has a call tell the engine where in a trace it stands.
func sendPlace(ctx context.Context) context.Context {
	place := tracing.Place(ctx)
	if place == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, placeKey, place)
}

// joinPlace puts the work of a call into the trace of its caller.
func joinPlace(ctx context.Context, t *tracing.Tracer) context.Context {
	if place := metadata.ValueFromIncomingContext(ctx, placeKey); len(place) == 1 {
		return t.Join(ctx, place[0])
	}
	return ctx
}
