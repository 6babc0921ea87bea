// Package workers is the batch loop: it claims a job, runs it on an engine, encodes the frames, stores the artifact and commits the
// result. The Janitor removes from the store what the jobs room has given up, and Rebuild brings records back from the manifests.
//
// It promises that a job's result is committed once, after its bytes were verified in the store, that a slot is free again only when
// the device is, and that whatever ends a run badly is judged in one place, classify. It knows no HTTP, no Redis and no GPU.
package workers
