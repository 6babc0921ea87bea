package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// balancerCheckEvery is the pause between two looks at whether a server is ready.
const balancerCheckEvery = 100 * time.Millisecond

// balancer sends requests in turn to the servers that say they are ready, as any load balancer does. Where a server's connection fails it answers 502:
// it hides nothing from the client.
type balancer struct {
	url     string
	servers []*backend
	turn    atomic.Uint64
	// onAnswer, where set, is told each answer before the client gets it; false drops it and cuts the client's connection.
	onAnswer atomic.Pointer[func(*http.Response) bool]
}

type backend struct {
	url   *url.URL
	proxy *httputil.ReverseProxy
	ready atomic.Bool
}

func startBalancer(t *testing.T, servers []string) *balancer {
	t.Helper()
	b := &balancer{}
	for _, s := range servers {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		// A transport of its own keeps idle connections of one test from another; errors reach the client as 502.
		proxy := &httputil.ReverseProxy{
			Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(u) },
			ModifyResponse: b.modify,
			ErrorHandler:   b.failed,
			Transport:      &http.Transport{MaxIdleConnsPerHost: 64},
			FlushInterval:  -1,
		}
		b.servers = append(b.servers, &backend{url: u, proxy: proxy})
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() { defer close(stopped); b.watch(ctx) }()
	front := httptest.NewServer(b)
	b.url = front.URL
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		stop()
		<-stopped
	})
	return b
}

// errDropped stands for an answer that its client does not get.
var errDropped = errors.New("answer dropped")

func (b *balancer) modify(res *http.Response) error {
	if f := b.onAnswer.Load(); f != nil && !(*f)(res) {
		return errDropped
	}
	return nil
}

func (b *balancer) failed(w http.ResponseWriter, _ *http.Request, err error) {
	if errors.Is(err, errDropped) {
		panic(http.ErrAbortHandler)
	}
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// intercept sets what is told each answer; nil nothing.
func (b *balancer) intercept(f func(*http.Response) bool) {
	if f == nil {
		b.onAnswer.Store(nil)
		return
	}
	b.onAnswer.Store(&f)
}

// ServeHTTP sends the request to the next ready server.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := uint64(len(b.servers))
	first := b.turn.Add(1)
	for i := range n {
		if s := b.servers[(first+i)%n]; s.ready.Load() {
			s.proxy.ServeHTTP(w, r)
			return
		}
	}
	http.Error(w, "no server is ready", http.StatusServiceUnavailable)
}

// watch looks at every server until ctx ends.
func (b *balancer) watch(ctx context.Context) {
	client := &http.Client{Timeout: 2 * time.Second}
	tick := time.NewTicker(balancerCheckEvery)
	defer tick.Stop()
	for {
		for _, s := range b.servers {
			s.ready.Store(isReady(ctx, client, s.url.JoinPath("/v1/service/ready").String()))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func isReady(ctx context.Context, client *http.Client, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}
