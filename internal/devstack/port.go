package devstack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
)

// portTries is how often a random port is tried anew when somebody else took it between our look and the child's bind.
const portTries = 3

// The ports that are tried lie below those that systems give to outgoing connections, so that nobody takes one while its server is restarted.
const (
	portMin   = 12_000
	portMax   = 32_000
	portLooks = 1000
)

// errNoPort means that no port was free among many.
var errNoPort = errors.New("devstack: no port is free")

// FreePort answers a loopback port that is free at this moment, with the ports at the offsets from it. Servers that must come back at their address cannot take port 0.
func FreePort(offsets ...int) (int, error) {
	for range portLooks {
		base := portMin + rand.IntN(portMax-portMin)
		free := isFree(base)
		for _, offset := range offsets {
			free = free && isFree(base+offset)
		}
		if free {
			return base, nil
		}
	}
	return 0, errNoPort
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

// freeUDPPort answers a loopback port for datagrams that is free at this moment.
func freeUDPPort() (int, error) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("devstack: find a port: %w", err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).Port, nil
}

// answersHTTP is nil when somebody answers at the URL, whatever the answer.
func answersHTTP(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// withPort calls start with the wanted port, or with random ones until a child stays alive on one.
func withPort(wanted int, start func(port int) error) error {
	if wanted != 0 {
		return start(wanted)
	}
	for try := 1; ; try++ {
		port, err := FreePort()
		if err != nil {
			return err
		}
		if err = start(port); !errors.Is(err, errEnded) || try == portTries {
			return err
		}
	}
}
