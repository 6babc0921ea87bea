// Package engine runs a pipeline in a process of its own and watches it.
//
// Serve is the process's side: it hosts one pipeline on a Unix socket. Supervisor is the worker's side: it spawns the process, loads it,
// feeds it sessions, and kills it when it hangs, so that a crash, a hang or a lost device ends one process and never the worker.
// docs/engine.md holds the rules of the protocol, which engines in other languages speak as well.
//
// It promises that a session which was closed holds the device no longer: the pipeline has let go, or its process is gone. It knows no
// job and no storage.
package engine
