// Package stage runs the stages of a pipeline as a graph of bounded, typed data flow inside one process.
//
// A Graph says which stages there are, what each consumes and produces, and how much may wait on each edge. A Scheduler runs one actor
// per stage and moves the artifacts of many sessions through it: in strict order within a session, in turns between sessions, with every
// downstream slot reserved before work starts, so that memory is bounded and nothing blocks. When a session ends, for whatever reason,
// its state is released stage by stage, last stage first, on the actors that own it.
//
// It promises that no accepted item is lost, doubled or delivered out of order while its session lives, that one session's failure is
// no other's, and that a session which could not be cleaned up is never used again. docs/stages.md holds the rules.
//
// It knows no model, no device and no network, and imports nothing of ours: a stage is a function.
package stage
