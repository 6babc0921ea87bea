package outbound

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Config says what may be reached and how long it may take. The zero value reaches the public internet on the ports 80 and 443.
type Config struct {
	// AllowNetworks are networks of the operator's own that may be reached although they are not public. A network of IPv4 does not open its twins in IPv6.
	AllowNetworks []netip.Prefix
	// AllowPorts may be reached besides 80 and 443.
	AllowPorts []int
	// Timeout bounds one call with everything in it: 15 s.
	Timeout time.Duration
	// StallTimeout bounds the wait for a connection, and in a Fetch for the head of the answer and between two pieces of its body: 5 s.
	StallTimeout time.Duration
	// BytesPerSecondMin is the least mean rate of a body once StallTimeout is over: 16 KiB/s.
	BytesPerSecondMin int64
	// FailureFloor is how long a failed CheckURL, Fetch or even Post takes at least, so that its time does not tell a blocked address from a silent one: 1 s. Below 0 it is off.
	FailureFloor time.Duration
	// Resolver finds names; nil is the system's.
	Resolver *net.Resolver
	// RootCAs verify receivers; nil is the system's.
	RootCAs *x509.CertPool
	// Watch, where it is set, sees every address that the guard has let pass, before it is connected to; its error stops the connection.
	Watch func(netip.AddrPort) error
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&c.Timeout, 15*time.Second)
	set(&c.StallTimeout, 5*time.Second)
	set(&c.FailureFloor, time.Second)
	if c.BytesPerSecondMin == 0 {
		c.BytesPerSecondMin = 16 << 10
	}
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	return c
}

// Validate answers what is wrong with the configuration, all of it at once.
func (c Config) Validate() error {
	c = c.withDefaults()
	var wrong []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Errorf("outbound: config: "+format, args...))
		}
	}
	refuse(c.Timeout < 0 || c.StallTimeout < 0 || c.BytesPerSecondMin < 0, "Timeout, StallTimeout and BytesPerSecondMin must not be negative")
	for _, p := range c.AllowNetworks {
		refuse(!p.IsValid() || p != p.Masked(), "AllowNetworks has %s, want a network such as 10.1.0.0/16", p)
	}
	for _, p := range c.AllowPorts {
		refuse(p < 1 || p > 65535, "AllowPorts has %d, want 1..65535", p)
	}
	return errors.Join(wrong...)
}
