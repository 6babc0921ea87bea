// Package tracing makes spans of OpenTelemetry and sends them over OTLP/HTTP. The rest of the program knows a Tracer, a Span and a text that carries a place in a trace from one process to
// the next: beside a request, in a job's record, in the metadata of a call of the engine's.
//
// A nil Tracer is one that is off: its spans are nil, every method of theirs does nothing, and no text comes out. Nothing here blocks or fails the work that it describes: what cannot be sent
// is dropped. Ids are attributes of spans and never labels of metrics; a prompt, a key or a URL is neither.
package tracing
