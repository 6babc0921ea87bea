package outboundtest

import (
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

// Allowed is the one address of a test that may be reached; the canary sings on all others of this machine.
const Allowed = "127.0.0.2"

// Canary listens where nobody may connect, on the loopback addresses of both families, and counts who does.
type Canary struct {
	Port     int
	connects atomic.Int64
	passed   atomic.Int64
}

// NewCanary starts listeners that end with the test.
func NewCanary(t testing.TB) *Canary {
	t.Helper()
	c := &Canary{}
	first := c.listen(t, "127.0.0.1:0")
	c.Port = first.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"[::1]", "127.0.0.53"} {
		c.listen(t, host+":"+strconv.Itoa(c.Port))
	}
	return c
}

func (c *Canary) listen(t testing.TB, address string) net.Listener {
	t.Helper()
	var config net.ListenConfig
	ln, err := config.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			c.connects.Add(1)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	return ln
}

// Watch is for outbound.Config: it counts what the guard let pass to anywhere but Allowed, and sends nothing off this machine.
func (c *Canary) Watch(to netip.AddrPort) error {
	if to.Addr().String() == Allowed {
		return nil
	}
	c.passed.Add(1)
	if to.Addr().Unmap().IsLoopback() || to.Addr().IsUnspecified() {
		return nil
	}
	return syscall.ENETUNREACH
}

// Sang is how many connections arrived, or would have left this machine, so far.
func (c *Canary) Sang() int64 { return c.connects.Load() + c.passed.Load() }
