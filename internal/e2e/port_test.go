package e2e_test

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The ports that are tried lie below those that systems give to outgoing connections, so that nobody takes one while its server is restarted.
const (
	portMin = 12_000
	portMax = 32_000
)

// freePort is a loopback port that is free at this moment. Servers that must come back at their address cannot take port 0.
func freePort(t *testing.T) int {
	t.Helper()
	return freePorts(t, 0)
}

// freePorts finds a port from which all the offsets are free.
func freePorts(t *testing.T, offsets ...int) int {
	t.Helper()
	for range 1000 {
		base := portMin + rand.IntN(portMax-portMin)
		free := true
		for _, offset := range offsets {
			free = free && isFree(base+offset)
		}
		if free {
			return base
		}
	}
	t.Fatal("no free ports")
	return 0
}

// isFree says whether a loopback port can be listened on at this moment.
func isFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
