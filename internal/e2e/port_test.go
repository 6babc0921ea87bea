package e2e_test

import (
	"testing"

	"telefuser/internal/devstack"
)

// freePort is a loopback port that is free at this moment, with the ports at the offsets from it.
func freePort(t *testing.T, offsets ...int) int {
	t.Helper()
	port, err := devstack.FreePort(offsets...)
	if err != nil {
		t.Fatal(err)
	}
	return port
}
