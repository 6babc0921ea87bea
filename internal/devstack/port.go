package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// portTries is how often a random port is tried anew when somebody else took it between our look and the child's bind.
const portTries = 3

// freePort answers a loopback port that is free at this moment.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("devstack: find a port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
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
		port, err := freePort()
		if err != nil {
			return err
		}
		if err = start(port); !errors.Is(err, errEnded) || try == portTries {
			return err
		}
	}
}
