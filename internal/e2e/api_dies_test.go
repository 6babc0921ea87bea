package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
)

// upload opens a multipart create at an API and sends it up to the middle of a picture.
func upload(t *testing.T, base string, data []byte) net.Conn {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.DialTimeout("tcp", u.Host, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	head := "--b\r\nContent-Disposition: form-data; name=\"input_reference\"; filename=\"p.png\"\r\n\r\n"
	_, err = fmt.Fprintf(conn, "POST /v1/videos HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s",
		len(head), head, len(data), data[:len(data)/2])
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestFaultAPIDiesDuringAnUpload leaves nothing behind: no record, no object, no file.
func TestFaultAPIDiesDuringAnUpload(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{})
	data := picture(t, 640, 480)
	conn := upload(t, s.apiURLs()[0], data)
	defer conn.Close()
	s.apis[0].kill()
	if _, err := io.ReadAll(conn); err == nil {
		// A server that dies may also close in order; what it must not do is answer.
		t.Log("the connection was closed in order")
	}
	s.startAPI(0)
	s.awaitReady(0)
	for range 100 {
		upload(t, s.apiURLs()[0], data).Close()
	}
	if found := s.client.all(t, 100); len(found) != 0 {
		t.Errorf("records of uploads that never ended: %v", found)
	}
	v := s.client.make(t, small("the queue moves"))
	s.checkStore(map[string]int{v.ID: 1})
	s.checkTemp()
}

// TestFaultAPIDiesBeforeItsAnswer kills an API after it has written a job and before its client knows.
func TestFaultAPIDiesBeforeItsAnswer(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{apis: 2})
	// Spelled like this, the header keeps Go's own client from sending the request again by itself.
	for _, header := range []http.Header{{"idempotency-key": {"lost"}}, nil} {
		victim := make(chan int, 1)
		s.balancer.intercept(func(res *http.Response) bool {
			if res.Request.Method != http.MethodPost || res.StatusCode != http.StatusOK {
				return true
			}
			for i, base := range s.apiURLs() {
				if base == res.Request.URL.Scheme+"://"+res.Request.URL.Host {
					s.apis[i].kill()
					victim <- i
				}
			}
			s.balancer.intercept(nil)
			return false
		})
		before := len(s.client.all(t, 100))
		if v, err := s.client.post(t.Context(), small("no answer"), header); err == nil {
			t.Fatalf("the answer arrived: %+v", v)
		}
		dead := <-victim
		if header != nil {
			// The retry meets the other API.
			v, err := s.api(1-dead).post(t.Context(), small("no answer"), header)
			if err != nil {
				t.Fatalf("retry: %v", err)
			}
			s.client.await(t, v.ID)
		}
		all := s.api(1-dead).all(t, 100)
		if len(all) != before+1 {
			t.Fatalf("%d jobs, want %d", len(all), before+1)
		}
		s.api(1-dead).await(t, all[0].ID)
		s.startAPI(dead)
		s.awaitReady(dead)
	}
}

// TestFaultLostTicketsAreSentAgain loses every queue message of accepted jobs.
func TestFaultLostTicketsAreSentAgain(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{noWorkers: true})
	var made []video
	for i := range 3 {
		made = append(made, s.client.create(t, small(fmt.Sprintf("ticket %d", i))))
	}
	db := s.redisClient()
	keys, err := db.Keys(t.Context(), "asynq:*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("no tickets: %v %v", keys, err)
	}
	if err := db.Del(t.Context(), keys...).Err(); err != nil {
		t.Fatal(err)
	}
	s.startWorker("worker0")
	lost := time.Now()
	for _, v := range made {
		s.client.await(t, v.ID)
	}
	if took := time.Since(lost); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestFaultDuplicateTicketsRunOnce delivers the message of a job several times under other ids.
func TestFaultDuplicateTicketsRunOnce(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{apis: 1, noWorkers: true})
	v := s.client.create(t, midway("once is enough"))
	connection := asynq.RedisClientOpt{Addr: s.redis.Addr}
	inspector := asynq.NewInspector(connection)
	defer inspector.Close()
	queues, err := inspector.Queues()
	if err != nil || len(queues) != 1 {
		t.Fatalf("queues: %v %v", queues, err)
	}
	pending, err := inspector.ListPendingTasks(queues[0])
	if err != nil || len(pending) != 1 {
		t.Fatalf("tickets: %v %v", pending, err)
	}
	sender := asynq.NewClient(connection)
	defer sender.Close()
	for i := range 5 {
		task := asynq.NewTask(pending[0].Type, pending[0].Payload)
		if _, err := sender.EnqueueContext(t.Context(), task, asynq.Queue(queues[0]), asynq.TaskID(fmt.Sprintf("copy-%d", i)), asynq.MaxRetry(5)); err != nil {
			t.Fatal(err)
		}
	}
	workers := []*process{s.startWorker("worker0"), s.startWorker("worker1")}
	v = s.client.await(t, v.ID)
	waitFor(t, videoTimeout, "all tickets to be used up", func() bool {
		info, err := inspector.GetQueueInfo(queues[0])
		return err == nil && info.Pending+info.Active+info.Scheduled+info.Retry == 0
	})
	if n := s.attempts(v.ID); n != 1 {
		t.Errorf("%d attempts", n)
	}
	begun := 0
	for _, w := range workers {
		for _, l := range logLines(t, w) {
			if l.text("job_id") == v.ID && l.text("msg") == "attempt begins" {
				begun++
			}
		}
	}
	if begun != 1 {
		t.Errorf("it was begun %d times", begun)
	}
	s.checkArtifact(v, 1)
	s.checkStore(map[string]int{v.ID: 1})
}

// TestEqualPostsMakeOneJob sends fifty equal requests with one key at once to two APIs.
func TestEqualPostsMakeOneJob(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{apis: 2, noWorkers: true})
	header := http.Header{"Idempotency-Key": {"fifty"}}
	ids := make([]string, 50)
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			v, err := s.client.post(t.Context(), small("all the same"), header)
			if err != nil {
				t.Error(err)
			}
			ids[i] = v.ID
		})
	}
	group.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("%s and %s", ids[0], id)
		}
	}
	_, err := s.client.post(t.Context(), small("not the same"), header)
	var answer *answerError
	if !errors.As(err, &answer) || answer.Status != http.StatusConflict || answer.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("other fields with the same key: %v", err)
	}
	if n := len(s.client.all(t, 100)); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// TestAPIEndsInOrder replaces both APIs and both workers under load; clients notice nothing.
func TestAPIEndsInOrder(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{apis: 2, workers: 2})
	s.awaitWorkers(2)
	ctx, stop := context.WithCancel(t.Context())
	load := s.startLoad(ctx)
	load.more(t, 100)
	for i := range 2 {
		s.apis[i].stop(t)
		s.startAPI(i)
		s.awaitReady(i)
		load.more(t, 100)
		s.workers[i].stop(t)
		s.workers[i] = s.startWorker("worker" + fmt.Sprint(i))
		load.more(t, 100)
	}
	stop()
	load.group.Wait()
	if len(load.failed) != 0 {
		t.Errorf("%d of %d requests failed, such as: %s", len(load.failed), load.requests, load.failed[0])
	}
	if len(load.made) == 0 {
		t.Error("the load made no videos")
	}
	for _, id := range load.made {
		s.client.await(t, id)
	}
	for id, n := range s.allAttempts() {
		if n != 1 {
			t.Errorf("%s took %d attempts", id, n)
		}
	}
}

// TestBadRequestsLeaveNothing sends what no client should, and finds the envelope each time and nothing afterwards.
func TestBadRequestsLeaveNothing(t *testing.T) {
	t.Parallel()
	s := startStack(t, stackOptions{noWorkers: true})
	huge := `{"prompt":"` + strings.Repeat("x", 40<<20) + `"}`
	for _, c := range []struct {
		name, method, path, contentType, body string
		status                                int
	}{
		{"text", http.MethodPost, "/v1/videos", "text/plain", "hello", http.StatusUnsupportedMediaType},
		{"no JSON", http.MethodPost, "/v1/videos", "application/json", "{", http.StatusBadRequest},
		{"a JSON list", http.MethodPost, "/v1/videos", "application/json", "[]", http.StatusBadRequest},
		{"NUL", http.MethodPost, "/v1/videos", "application/json", `{"prompt":"a\u0000b"}`, http.StatusBadRequest},
		{"too large", http.MethodPost, "/v1/videos", "application/json", huge, http.StatusRequestEntityTooLarge},
		{"no boundary", http.MethodPost, "/v1/videos", "multipart/form-data", "x", http.StatusBadRequest},
		{"no route", http.MethodGet, "/v1/nothing", "", "", http.StatusNotFound},
		{"method", http.MethodPatch, "/v1/videos", "", "", http.StatusMethodNotAllowed},
		{"literal sibling", http.MethodGet, "/v1/videos/edits", "", "", http.StatusMethodNotAllowed},
		{"1e309", http.MethodPost, "/v1/videos", "application/json", `{"prompt":"x","fps":1e309}`, http.StatusBadRequest},
		{"2^63", http.MethodPost, "/v1/videos", "application/json", `{"prompt":"x","seed":9223372036854775808}`, http.StatusBadRequest},
	} {
		start := time.Now()
		_, err := s.client.call(t.Context(), c.method, c.path, http.Header{"Content-Type": {c.contentType}}, strings.NewReader(c.body), nil)
		var answer *answerError
		if !errors.As(err, &answer) || answer.Status != c.status {
			t.Errorf("%s: %.300v, want %d", c.name, err, c.status)
			continue
		}
		if took := time.Since(start); took > time.Second && c.name != "too large" {
			t.Errorf("%s took %s", c.name, took)
		}
		checkEnvelope(t, c.name, answer)
	}
	if n := len(s.client.all(t, 100)); n != 0 {
		t.Errorf("%d records", n)
	}
	s.checkStore(nil)
	s.checkTemp()
}

func checkEnvelope(t *testing.T, name string, answer *answerError) {
	t.Helper()
	var body map[string]map[string]any
	decoder := json.NewDecoder(bytes.NewReader([]byte(answer.Body)))
	if err := decoder.Decode(&body); err != nil {
		t.Errorf("%s: no JSON: %.200s", name, answer.Body)
		return
	}
	for _, key := range []string{"message", "type", "param", "code"} {
		if _, ok := body["error"][key]; !ok {
			t.Errorf("%s: the envelope has no %s: %s", name, key, answer.Body)
		}
	}
}
