// Package streaming keeps long-lived sessions: their records, who may start one, which worker owns one, and the loop that carries frames
// from a source to a publisher.
//
// It promises that a session is owned by one worker at a time (its epoch is the fence), ends with a reason, and gives its slot back. It
// knows no LiveKit and no GPU: sources and publishers are plugged in.
package streaming
