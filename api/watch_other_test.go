//go:build !linux

package api_test

import "testing"

// watchFile has no way to see reads here.
func watchFile(*testing.T, string) func() bool { return func() bool { return false } }
