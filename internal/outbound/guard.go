package outbound

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// guard decides about sockets.
type guard struct {
	networks []netip.Prefix
	ports    []int
	watch    func(netip.AddrPort) error
}

// control is called for every socket, with the address that it is about to be connected to.
func (g guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: network %s", errBlocked, network)
	}
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: address: %w", errBlocked, err)
	}
	if !g.allows(to.Addr()) || !g.allowsPort(int(to.Port())) {
		return fmt.Errorf("%w: %s", errBlocked, to)
	}
	if g.watch != nil {
		return g.watch(to)
	}
	return nil
}

// allows says whether an address may be connected to.
func (g guard) allows(addr netip.Addr) bool {
	if public(addr) {
		return true
	}
	return addr.Zone() == "" && within(g.networks, addr.Unmap())
}

func (g guard) allowsPort(port int) bool {
	return port == 80 || port == 443 || slices.Contains(g.ports, port)
}
