package outbound

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// URLBytesMax is the length of an address at most.
const URLBytesMax = 2048

// HTTPS is the scheme of a careful caller, Web that of one who takes both.
func HTTPS() []string { return []string{"https"} }

// Web is both schemes.
func Web() []string { return []string{"https", "http"} }

// parse reads an address and refuses what no caller means: this is about clear errors, the guard is what protects.
func (c *Client) parse(text string, schemes []string) (*url.URL, error) {
	if text == "" || len(text) > URLBytesMax {
		return nil, fmt.Errorf("outbound: want 1 to %d characters: %w", URLBytesMax, ErrURL)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' || text[i] == '\\' {
			return nil, fmt.Errorf("outbound: a character must be escaped: %w", ErrURL)
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("outbound: it does not parse: %w", ErrURL) // the error's own text holds the address
	case !slices.Contains(schemes, u.Scheme):
		return nil, fmt.Errorf("outbound: the scheme must be %s: %w", strings.Join(schemes, " or "), ErrURL)
	case u.User != nil || u.Opaque != "":
		return nil, fmt.Errorf("outbound: a user or password is in it: %w", ErrURL)
	case !hostForm(u.Hostname()):
		return nil, fmt.Errorf("outbound: the host is none: %w", ErrURL)
	}
	if port, err := portOf(u); err != nil || !c.guard.allowsPort(port) {
		return nil, fmt.Errorf("outbound: the port is not allowed: %w", ErrURL)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func portOf(u *url.URL) (int, error) {
	switch {
	case u.Port() != "":
		return strconv.Atoi(u.Port())
	case strings.HasSuffix(u.Host, ":"):
		return 0, ErrURL
	case u.Scheme == "http":
		return 80, nil
	}
	return 443, nil
}

// hostForm takes names of letters, digits, dots and hyphens, and addresses in their one usual form: what ends in a number and is no such address is read as one
// by some resolvers and not by others.
func hostForm(host string) bool {
	if strings.Contains(host, ":") {
		addr, err := netip.ParseAddr(host)
		return err == nil && addr.Zone() == ""
	}
	name := strings.TrimSuffix(host, ".")
	if name == "" || len(name) > 253 || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
		return false
	}
	labels := strings.Split(name, ".")
	if slices.Contains(labels, "") {
		return false
	}
	last := strings.ToLower(labels[len(labels)-1])
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == "" {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	return true
}

// CheckURL says whether a text is an address that may be called as things stand: its form, with ErrURL, and that its host has nothing but addresses that may be
// reached, with ErrUnreachable. Every later call is guarded anew: a name may mean something else by then.
func (c *Client) CheckURL(ctx context.Context, text string, schemes []string) error {
	start := time.Now()
	u, err := c.parse(text, schemes)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.StallTimeout)
	defer cancel()
	addrs, err := c.cfg.Resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err == nil && len(addrs) > 0 && !slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !c.guard.allows(a) }) {
		return nil
	}
	c.even(ctx, start)
	return fmt.Errorf("outbound: check: %w", ErrUnreachable)
}
