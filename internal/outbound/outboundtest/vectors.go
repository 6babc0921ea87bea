package outboundtest

import (
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Vector is one host that no call may reach.
type Vector struct {
	// Host is how it stands in a URL, Addr what it means; invalid where it means nothing.
	Host string
	Addr netip.Addr
}

// Vectors reads the file of vectors.
func Vectors(t testing.TB, path string) []Vector {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []Vector
	for line := range strings.Lines(string(text)) {
		host, addr, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || host == "#" {
			continue
		}
		v := Vector{Host: host}
		if addr != "-" {
			v.Addr = netip.MustParseAddr(addr)
		}
		out = append(out, v)
	}
	return out
}

// URL is the vector as a URL with a port.
func (v Vector) URL(scheme string, port int) string {
	return scheme + "://" + v.Host + ":" + strconv.Itoa(port) + "/"
}

// Name says what a vector means to a name server, where it is a name.
func (v Vector) Name(d *DNS) {
	if _, err := netip.ParseAddr(strings.Trim(v.Host, "[]")); err == nil || !v.Addr.IsValid() {
		return
	}
	host := v.Host[strings.LastIndexByte(v.Host, '@')+1:]
	d.Say(host, v.Addr)
}

// Join is host and port as they stand in a URL.
func Join(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
