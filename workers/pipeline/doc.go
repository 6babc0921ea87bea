// Package pipeline says what a model run is and holds the table of the built-in pipelines.
//
// A batch job and a live session are the same thing to a pipeline: a session is opened with a request and asked for chunks until
// io.EOF; a live one is fed with controls meanwhile. Files pipelines are adapters of a few lines over workers/models.
package pipeline
