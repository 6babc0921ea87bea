// Package contract says what a pipeline accepts: its tasks, inputs, typed parameters with defaults and ranges, and the rules of its
// geometry. One contract validates requests at the API, fills the service metadata and draws the console's form.
//
// It is a leaf, so that the API can check a request without reaching a model, a kernel or a GPU.
package contract
