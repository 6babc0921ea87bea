package outbound

import "net/netip"

// special4 are the networks of IPv4 that are not the public internet: those of IANA's special-purpose registry that are not globally reachable, multicast, what is
// reserved, and one public address behind which a cloud hides the machine's own metadata.
var special4 = networks(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
	"192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32",
)

// global6 is all of IPv6 that is handed out for the public internet; special6 are its parts that are not, or that carry an address of IPv4 inside: Teredo and the
// other protocol assignments, documentation, 6to4. Loopback, link-local, unique local, mapped and translated (NAT64) addresses lie outside of global6.
var (
	global6  = netip.MustParsePrefix("2000::/3")
	special6 = networks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)

func networks(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// public says whether an address belongs to the public internet. Mapped addresses (::ffff:0:0/96) count as what they are mapped from, for that is what a socket
// connects to.
func public(addr netip.Addr) bool {
	if addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap()
	if addr.Is4() {
		return !within(special4, addr)
	}
	return global6.Contains(addr) && !within(special6, addr)
}

func within(list []netip.Prefix, addr netip.Addr) bool {
	for _, p := range list {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
