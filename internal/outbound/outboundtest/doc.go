// Package outboundtest holds what tests of guarded calls need: a name server that says what it is told, listeners that nobody may reach, and the vectors of
// testdata/ssrf.txt. It is for tests alone.
package outboundtest
