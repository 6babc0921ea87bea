package api_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowPeers are connections that bring next to nothing, as many of each kind: 500 for make safety.
func slowPeers() int {
	if safetyLong {
		return 500
	}
	return 40
}

// slowBytePause is how long a slow peer waits between two bytes.
const slowBytePause = 500 * time.Millisecond

// TestSlowPeersAreCutOff holds connections open with headers that never end, with bodies that stop half-way and with bodies of a byte now and then, while others work.
// The server ends them all by its limits, and nothing stays behind.
func TestSlowPeersAreCutOff(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(in *setup) {
		if !safetyLong {
			in.api.StallTimeout = 2 * time.Second
		}
	})
	alone := s.answerTimes(t, 50)
	header := "POST /v1/videos HTTP/1.1\r\nHost: a\r\n"
	body := header + "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"prompt\":\"a"
	half := header + "Content-Type: multipart/form-data; boundary=" + boundary + "\r\nContent-Length: 100000\r\n\r\n" + form(field("prompt", "a"))[:40]
	var all sync.WaitGroup
	var mu sync.Mutex
	ends := map[string]int{}
	var longest time.Duration
	for i := range slowPeers() {
		for kind, text := range map[string]string{"header": header + "X-Slow: ", "half a body": []string{body, half}[i%2], "a slow body": body} {
			all.Go(func() {
				begin := time.Now()
				end := s.slowPeer(t, text, kind != "half a body")
				mu.Lock()
				defer mu.Unlock()
				ends[kind+": "+end]++
				longest = max(longest, time.Since(begin))
			})
		}
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	var beside []time.Duration
	for working := true; working; {
		beside = append(beside, s.answerTimes(t, 10)...)
		select {
		case <-ended:
			working = false
		case <-time.After(50 * time.Millisecond): // the pace of somebody who polls
		}
	}
	t.Logf("%d peers of each kind ended as %v, the last after %s; answers to others: alone p99 %s, beside them p99 %s of %d", slowPeers(), ends, longest.Round(time.Millisecond),
		ninetyNinth(alone), ninetyNinth(beside), len(beside))
	for end := range ends {
		if !strings.HasSuffix(end, ": closed") && !strings.Contains(end, " 408 ") {
			t.Errorf("some ended as %s", end)
		}
	}
	eventually(t, "no request is under way but the one that asks", func() bool {
		return strings.Contains(string(s.request(t, http.MethodGet, "/metrics", nil).body), "telefuser_http_requests_inflight 1\n")
	})
	s.noTempFiles(t)
	if list := s.request(t, http.MethodGet, "/v1/videos", nil).object(t, 200); len(list["data"].([]any)) != 0 {
		t.Errorf("slow peers made videos: %v", list)
	}
}

// slowPeer sends a beginning, then a byte now and then or nothing, and says how the server ended it.
func (s *stack) slowPeer(t *testing.T, text string, drips bool) string {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Error(err)
		return "no connection"
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(3 * time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		return "closed"
	}
	stop := make(chan struct{})
	defer close(stop)
	if drips {
		go func() {
			tick := time.NewTicker(slowBytePause)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
					if _, err := conn.Write([]byte("a")); err != nil {
						return
					}
				}
			}
		}()
	}
	answer, err := io.ReadAll(conn)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "never"
	case len(answer) == 0:
		return "closed"
	}
	line, _, _ := strings.Cut(string(answer), "\r\n")
	return line
}

// answerTimes makes ordinary requests of two kinds and says how long each took.
func (s *stack) answerTimes(t *testing.T, n int) []time.Duration {
	t.Helper()
	took := make([]time.Duration, n)
	for i := range took {
		begin := time.Now()
		if i%2 == 0 {
			s.request(t, http.MethodGet, "/v1/videos", nil).object(t, 200)
		} else {
			s.postJSON(t, "/v1/videos", fmt.Sprintf(`{"prompt":"","seed":%d}`, i)).problem(t, 400)
		}
		took[i] = time.Since(begin)
	}
	return took
}

func ninetyNinth(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)*99/100].Round(time.Microsecond)
}
