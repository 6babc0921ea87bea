package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

const (
	checkTimeout   = 3 * time.Second
	checkBodyBytes = 4096
)

func newCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Ask a running server whether it is ready; exit code 1 when it is not",
		Long:  "check is what container health checks call: the image holds no other HTTP client.",
		Args:  cobra.NoArgs,
	}
	url := cmd.Flags().String("url", "http://127.0.0.1:8000/v1/service/ready", "address that answers 200 when ready")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return check(cmd.Context(), *url) }
	return cmd
}

func check(ctx context.Context, url string) error {
	status, body, err := ask(ctx, url)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("not ready: %d %s", status, body)
	}
	return err
}

// ask sends a GET and answers the status and the beginning of the body.
func ask(ctx context.Context, url string) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, usageError{err}
	}
	transport := checkTransport(req.URL.Hostname())
	defer transport.CloseIdleConnections()
	client := &http.Client{Timeout: checkTimeout, Transport: transport}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, checkBodyBytes))
	return res.StatusCode, body, err
}

// checkTransport verifies certificates, but not this machine's own: they rarely name a loopback address, and nobody stands in between.
func checkTransport(host string) *http.Transport {
	ip := net.ParseIP(host)
	own := host == "localhost" || ip != nil && ip.IsLoopback()
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: own, MinVersion: tls.VersionTLS12}}
}
