package outbound

import (
	"net/netip"
	"strings"
	"testing"
)

// Parse parses a URL and checks what must hold of every one that is taken.
func Parse(t *testing.T, c *Client, text string) {
	t.Helper()
	u, err := c.parse(text, Web())
	if err != nil {
		return
	}
	if u.User != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsAny(u.Host, " \\@/") {
		t.Errorf("%q became %q", text, u)
	}
}

// Public is whether an address is of the public internet.
func Public(addr netip.Addr) bool { return public(addr) }
