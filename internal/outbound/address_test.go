package outbound_test

import (
	"net/netip"
	"testing"

	"telefuser/internal/outbound"
	"telefuser/internal/outbound/outboundtest"
)

// TestPublicAddresses holds the rule itself: every vector is none, and addresses beside the edges of the blocked networks are.
func TestPublicAddresses(t *testing.T) {
	for _, v := range outboundtest.Vectors(t, vectors) {
		if v.Addr.IsValid() && outbound.Public(v.Addr) {
			t.Errorf("%s passes as public", v.Addr)
		}
	}
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
		"172.32.0.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8", "2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888",
	} {
		if !outbound.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s does not pass as public", text)
		}
	}
}
