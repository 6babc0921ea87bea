package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
)

// ErrInvalid says that an argument breaks a documented rule.
var ErrInvalid = errors.New("tracing: invalid argument")

// Config says where spans go.
type Config struct {
	// Endpoint is the address of an OTLP/HTTP receiver, such as http://127.0.0.1:4318; "/v1/traces" is added to one without a path. Empty turns tracing off.
	Endpoint string
	// Service names this process, Version is the program's.
	Service, Version string
	// Ratio is the share of traces that are kept, 0 to 1. A trace that came with a decision keeps it.
	Ratio float64
	// Log hears once a minute at most that spans cannot be sent; nil means nowhere.
	Log *slog.Logger
}

// The limits of what is held and sent. Spans beyond them are dropped.
const (
	queuedMax   = 2048
	sendEvery   = 2 * time.Second
	sendTimeout = 5 * time.Second
)

// Tracer makes spans. Nil is off.
type Tracer struct {
	provider *trace.TracerProvider
	tracer   api.Tracer
}

// New prepares to send; it reaches out to nothing yet. It answers nil when the endpoint is empty.
func New(ctx context.Context, cfg Config) (*Tracer, error) {
	if cfg.Endpoint == "" {
		return nil, nil
	}
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || cfg.Ratio < 0 || cfg.Ratio > 1 {
		return nil, fmt.Errorf("%w: the endpoint must be an http or https address, the ratio 0 to 1", ErrInvalid)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()), otlptracehttp.WithTimeout(sendTimeout))
	if err != nil {
		return nil, fmt.Errorf("tracing: %w: %v", ErrInvalid, err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", cfg.Service), attribute.String("service.version", cfg.Version))
	provider := trace.NewTracerProvider(
		trace.WithResource(about), trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(cfg.Ratio))),
		trace.WithBatcher(&quiet{SpanExporter: exporter, log: cfg.Log}, trace.WithMaxQueueSize(queuedMax), trace.WithBatchTimeout(sendEvery), trace.WithExportTimeout(sendTimeout)),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer("telefuser")}, nil
}

// Close sends what is held, for 5 s at most.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has said why, and nothing hangs on it
}

// Start begins a span within that of ctx.
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return t.begin(ctx, name, time.Now())
}

// StartAt begins a span in the past.
func (t *Tracer) StartAt(ctx context.Context, name string, begin time.Time) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	return t.begin(ctx, name, begin)
}

func (t *Tracer) begin(ctx context.Context, name string, begin time.Time) (context.Context, *Span) {
	ctx, span := t.tracer.Start(ctx, name, api.WithTimestamp(begin))
	return ctx, &Span{span}
}

// Join puts ctx into the trace that another process's Place names. One that cannot be read begins a trace of its own.
func (t *Tracer) Join(ctx context.Context, place string) context.Context {
	if t == nil || place == "" || len(place) > placeBytesMax {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": place})
}

// placeBytesMax bounds what is read of a place; the standard's has 55 bytes.
const placeBytesMax = 128

// Place is where ctx stands in its trace, as the header traceparent of the W3C; empty when it stands in none.
func Place(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}
