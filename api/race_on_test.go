//go:build race

package api_test

// raceEnabled is whether the race detector slows everything down.
const raceEnabled = true
