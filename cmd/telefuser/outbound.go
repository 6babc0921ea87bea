package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/api"
	"telefuser/internal/config"
	"telefuser/internal/outbound"
	"telefuser/webhooks"
)

// outboundClient is the one way out to addresses that clients name.
func outboundClient(c config.Outbound) (*outbound.Client, error) {
	networks, err := c.Networks()
	if err != nil {
		return nil, err
	}
	ports, err := c.Ports()
	if err != nil {
		return nil, err
	}
	return outbound.New(outbound.Config{AllowNetworks: networks, AllowPorts: ports})
}

// newSender sends the events of webhooks; every process that ends jobs, or takes them, runs one.
func newSender(p *parts, metrics prometheus.Registerer) (*webhooks.Sender, error) {
	client, err := outboundClient(p.cfg.Outbound)
	if err != nil {
		return nil, err
	}
	return webhooks.NewSender(webhooks.Config{AllowHTTP: p.cfg.Webhooks.AllowHTTP, Metrics: metrics, Log: p.log}, p.records, client)
}

// withOutbound gives the API what it needs of the way out.
func withOutbound(p *parts, d *api.Deps) error {
	client, err := outboundClient(p.cfg.Outbound)
	if err != nil {
		return err
	}
	d.Webhooks = desk{webhooks.NewDesk(webhooks.Config{AllowHTTP: p.cfg.Webhooks.AllowHTTP}, p.records, client)}
	if p.cfg.Outbound.FetchImages {
		d.FetchImage = func(ctx context.Context, url string, bytesMax int64) (io.ReadCloser, error) {
			body, err := client.Fetch(ctx, url, outbound.Web(), bytesMax)
			if err != nil {
				return nil, inAPIWords(err)
			}
			return fetched{body}, nil
		}
	}
	return nil
}

// desk is webhooks' desk in the API's words.
type desk struct{ *webhooks.Desk }

// CheckURL is the desk's.
func (d desk) CheckURL(ctx context.Context, url string) error {
	return inAPIWords(d.Desk.CheckURL(ctx, url))
}

// Test is the desk's.
func (d desk) Test(ctx context.Context, tenant, id, kind string) (int, error) {
	status, err := d.Desk.Test(ctx, tenant, id, kind)
	return status, inAPIWords(err)
}

// fetched is a picture under way whose errors are in the API's words.
type fetched struct{ io.ReadCloser }

// Read reads on.
func (f fetched) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, inAPIWords(err)
}

// inAPIWords translates the errors of the way out.
func inAPIWords(err error) error {
	is := func(some ...error) bool {
		for _, e := range some {
			if errors.Is(err, e) {
				return true
			}
		}
		return false
	}
	switch {
	case is(outbound.ErrURL, webhooks.ErrAddress):
		return fmt.Errorf("%w: %w", api.ErrAddress, err)
	case is(outbound.ErrTooLarge):
		return fmt.Errorf("%w: %w", api.ErrImageTooLarge, err)
	case is(outbound.ErrUnreachable, outbound.ErrStatus, outbound.ErrType, webhooks.ErrUnreachable):
		return fmt.Errorf("%w: %w", api.ErrUnreachable, err)
	}
	return err
}
