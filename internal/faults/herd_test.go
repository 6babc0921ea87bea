package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestHerd (F29) lets everybody come at once after an outage: each is answered politely, and then life goes on.
func TestHerd(t *testing.T) {
	need(t, extentFull)
	t.Parallel()
	herd := 400
	if atLeast(extentLong) {
		herd = 2000
	}
	b := startBench(t, options{})
	for _, w := range b.workers { // what is measured is the API: the jobs are deleted again
		if _, err := w.stop(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range b.nodes() {
		n.redis.set(conduct{down: true})
	}
	pause(t, 2*time.Second)
	for _, n := range b.nodes() {
		n.redis.heal()
	}
	moves := b.counting([]string{"telefuser_tasks_created_total|" + refusals})
	var patient []*client
	for _, a := range b.apis {
		patient = append(patient, newClient(a.client.base))
		patient[len(patient)-1].http.Timeout = time.Minute
	}
	var mu sync.Mutex
	var took durations
	var ids []string
	refused := 0
	var group sync.WaitGroup
	for i := range herd {
		group.Go(func() {
			started := time.Now()
			v, err := patient[i%2].post(context.WithoutCancel(t.Context()), script(fmt.Sprintf("one of a herd %d", i)), nil)
			took.add(time.Since(started))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				ids = append(ids, v.ID)
			case refusedPolitely(err):
				refused++
			default:
				t.Errorf("an answer: %v", err)
			}
		})
	}
	group.Wait()
	t.Logf("measured: %d taken, %d refused", len(ids), refused)
	took.report(t, "a create of a herd is answered", 99, 2*time.Second, 5*time.Second)
	moves.look()
	if len(ids) > 0 { // on a machine that does much else all may be refused
		b.pollAll(patient, ids)
	}
	calm := time.Now()
	b.awaitReady()
	v, err := b.apis[0].client.post(t.Context(), script("after the herd"), nil)
	b.must(err)
	within(t, "a create goes as usual", time.Since(calm), 5*time.Second)
	for i, id := range b.listed(append(ids, v.ID), refused) {
		b.gone(patient[i%2], id)
	}
	for _, w := range b.workers {
		b.start(w)
	}
	b.awaitWorkers(2)
	b.await(b.create(script("and one that is made")))
	b.check()
}

// listed answers the ids of all videos. A create that was refused late may have made its video all the same: its client would come again with its key.
func (b *bench) listed(known []string, refused int) []string {
	b.t.Helper()
	var all []video
	b.must(patiently(func() (err error) { all, err = b.apis[0].client.list(b.ctx()); return err }))
	if len(all) < len(known) || len(all) > len(known)+refused {
		b.t.Errorf("%d videos are listed, %d creates were answered and %d refused", len(all), len(known), refused)
	}
	var ids []string
	for _, v := range all {
		ids = append(ids, v.ID)
	}
	return ids
}

// pollAll asks for every video at once, as clients do that were waiting.
func (b *bench) pollAll(clients []*client, ids []string) {
	b.t.Helper()
	var took durations
	var refused atomic.Int64
	var group sync.WaitGroup
	for i, id := range ids {
		group.Go(func() {
			asked := time.Now()
			_, err := clients[i%2].get(b.ctx(), id)
			took.add(time.Since(asked))
			switch {
			case refusedPolitely(err):
				refused.Add(1)
			case err != nil:
				b.t.Errorf("a poll: %v", err)
			}
		})
	}
	group.Wait()
	b.t.Logf("measured: %d polls at once, %d refused", len(ids), refused.Load())
	took.report(b.t, "a poll of a herd is answered", 99, 2*time.Second, 5*time.Second)
}

// gone deletes a video that must be there, as a client that comes again when it is refused.
func (b *bench) gone(c *client, id string) {
	b.t.Helper()
	var err error
	if !holdsWithin(jobTimeout, func() bool { _, err = c.get(b.ctx(), id); return err == nil || !refusedPolitely(err) }) || err != nil {
		b.t.Errorf("%s was accepted: %v", id, err)
	}
	// A deletion whose answer was lost on its way from Redis is found done when it is repeated.
	if !holdsWithin(jobTimeout, func() bool { err = c.delete(b.ctx(), id); return err == nil || !refusedPolitely(err) }) || err != nil && statusOf(err) != http.StatusNotFound {
		b.t.Errorf("delete: %v", err)
	}
}

// TestSlowSenders (F31) opens hundreds of connections that say a byte now and then: others are served as before, and the slow ones are cut off.
func TestSlowSenders(t *testing.T) {
	need(t, extentFull)
	t.Parallel()
	const each = 150
	b := startBench(t, options{workers: 1})
	address := strings.TrimPrefix(b.apis[0].client.base, "http://")
	var conns []net.Conn
	for i := range 2 * each {
		conn, err := net.DialTimeout("tcp", address, 5*time.Second)
		b.must(err)
		defer conn.Close()
		text := "POST /v1/videos HTTP/1.1\r\nHost: x\r\nX-A: "
		if i%2 == 0 {
			text = "POST /v1/videos HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
		}
		_, err = io.WriteString(conn, text)
		b.must(err)
		conns = append(conns, conn)
	}
	moves := b.counting([]string{`telefuser_http_requests_total status="408"`})
	opened := time.Now()
	var slowest time.Duration
	for range 50 {
		asked := time.Now()
		_, err := b.apis[0].client.list(t.Context())
		b.must(err)
		slowest = max(slowest, time.Since(asked))
	}
	within(t, "the slowest of 50 lists beside them is answered", slowest, 2*time.Second)
	b.await(b.create(script("beside slow senders")))
	var group sync.WaitGroup
	for _, conn := range conns {
		group.Go(func() {
			_ = conn.SetReadDeadline(opened.Add(2 * time.Minute))
			// A byte every second is not enough.
			stop := make(chan struct{})
			defer close(stop)
			go func() {
				tick := time.NewTicker(time.Second)
				defer tick.Stop()
				for {
					select {
					case <-tick.C:
						if _, err := conn.Write([]byte("a")); err != nil {
							return
						}
					case <-stop:
						return
					}
				}
			}()
			_, err := io.Copy(io.Discard, conn)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a slow sender is still there")
			}
		})
	}
	group.Wait()
	t.Logf("measured: the last of %d slow senders is cut off after %s", len(conns), time.Since(opened).Round(time.Second))
	moves.look()
	if err := b.apis[0].client.call(t.Context(), http.MethodGet, "/health", nil, nil, nil); err != nil {
		t.Error(err)
	}
	b.check()
}
