package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// Fetch opens a picture of at most bytesMax bytes. Up to three redirects are followed, each of them guarded like the first call, and none from https to http. What is
// declared to be something else than a picture or plain bytes is ErrType; what the bytes are is for the caller to see. Reading fails with ErrTooLarge after bytesMax bytes,
// whatever the answer said of its length, and with ErrUnreachable when the answer stalls, is slower than BytesPerSecondMin or takes longer than Timeout in all. The caller closes it.
func (c *Client) Fetch(ctx context.Context, text string, schemes []string, bytesMax int64) (io.ReadCloser, error) {
	start := time.Now()
	u, err := c.parse(text, schemes)
	if err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	request, err := http.NewRequestWithContext(context.WithValue(bounded, schemesKey{}, schemes), http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("outbound: fetch: %w", ErrURL)
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "image/png, image/jpeg, image/webp")
	stall := time.AfterFunc(c.cfg.StallTimeout, cancel)
	response, err := c.gets.Do(request)
	if err == nil && (response.StatusCode != http.StatusOK || !pictureType(response.Header.Get("Content-Type"))) {
		_ = response.Body.Close()
		err = ErrStatus
		if response.StatusCode == http.StatusOK {
			err = ErrType
		}
	}
	if err != nil {
		stall.Stop()
		cancel()
		c.even(ctx, start)
		if errors.Is(err, ErrStatus) || errors.Is(err, ErrType) {
			return nil, fmt.Errorf("outbound: fetch: %w", err)
		}
		return nil, c.failed(ctx, "fetch", err)
	}
	stall.Reset(c.cfg.StallTimeout)
	return &body{client: c, ctx: ctx, from: response.Body, cancel: cancel, stall: stall, left: bytesMax, begun: time.Now()}, nil
}

// schemesKey is where a request carries the schemes of its redirects.
type schemesKey struct{}

// hop looks at a redirect before it is followed.
func (c *Client) hop(request *http.Request, via []*http.Request) error {
	if len(via) > hopsMax {
		return fmt.Errorf("outbound: more than %d redirects: %w", hopsMax, ErrUnreachable)
	}
	schemes, _ := request.Context().Value(schemesKey{}).([]string)
	if via[len(via)-1].URL.Scheme == "https" {
		schemes = HTTPS()
	}
	if _, err := c.parse(request.URL.String(), schemes); err != nil {
		return err
	}
	request.Header.Del("Referer") // the address before may hold a secret of its owner
	return nil
}

// pictureType takes pictures, and what stores give to bytes that they know nothing about.
func pictureType(header string) bool {
	if header == "" {
		return true
	}
	mediaType, _, err := mime.ParseMediaType(header)
	return err == nil && (strings.HasPrefix(mediaType, "image/") || mediaType == "application/octet-stream" || mediaType == "binary/octet-stream")
}

// body bounds the bytes, the pace and the time of an answer.
type body struct {
	client *Client
	ctx    context.Context //nolint:containedctx // a body lives as long as its request
	from   io.ReadCloser
	cancel context.CancelFunc
	stall  *time.Timer
	left   int64
	got    int64
	begun  time.Time
}

// Read reads on.
func (b *body) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("outbound: fetch: %w", ErrTooLarge)
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.from.Read(p)
	b.stall.Reset(b.client.cfg.StallTimeout)
	b.left -= int64(n)
	b.got += int64(n)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return n, b.client.failed(b.ctx, "fetch", err)
	case err == nil && b.slow():
		b.cancel()
		return n, fmt.Errorf("outbound: fetch: too slow: %w", ErrUnreachable)
	}
	return n, err
}

// slow says whether the mean rate is below the least one, once there was time to get going.
func (b *body) slow() bool {
	passed := time.Since(b.begun)
	return passed > b.client.cfg.StallTimeout && b.got < int64(passed.Seconds()*float64(b.client.cfg.BytesPerSecondMin))
}

// Close ends the call.
func (b *body) Close() error {
	b.stall.Stop()
	b.cancel()
	return b.from.Close()
}
