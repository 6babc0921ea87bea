// Package bench loads a running server from the outside and says what that was like.
//
// It promises that load is open: every request has a moment at which it is meant to be sent, fixed before the run, and its latency counts from that
// moment, so that a server that stalls is charged for all the requests that had to wait, not only for the few that were under way. Failures stay
// in the denominator. Percentiles come from every sample, not from buckets.
//
// It is a black box: it knows the wire and the process table, and nothing of how the server works or was started.
package bench
