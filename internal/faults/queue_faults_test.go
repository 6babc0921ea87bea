package faults_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func queueFaults() []fault {
	return []fault{
		{"F28 a message of the queue cannot be read", extentShort, garbageInTheQueue},
		{"F32 one job is delivered many times", extentShort, deliveredManyTimes},
		{"F36 a job is of a newer version", extentFull, newerRecord},
		{"fact 7 the answer to a ticket is lost", extentFull, ticketAnswerLost},
	}
}

// Parts of asynq's own keys.
const (
	pendingKey = "asynq:{tf.scripted}:pending"
	taskKey    = "asynq:{tf.scripted}:t:"
)

// plant puts a message under an id into the queue, as anybody with access to Redis can.
func (b *bench) plant(id, message string) {
	b.t.Helper()
	if err := b.rdb.HSet(b.ctx(), taskKey+id, "msg", message, "state", "pending").Err(); err != nil {
		b.t.Fatal(err)
	}
	if err := b.rdb.LPush(b.ctx(), pendingKey, id).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// garbageInTheQueue must hurt nobody, also when a worker has died with jobs of its own in the queue. It is counted once its reader's lease in the queue is over.
func garbageInTheQueue(t *testing.T, b *bench) {
	for i := range 3 {
		b.plant(fmt.Sprintf("garbage-%d", b.keys.Add(1)), strings.Repeat("\xff\x00", i+1))
	}
	s := b.create(chunked("step_ms=700", 6))
	victim, _ := b.begun(s, 1)
	b.ledger.disrupt()
	victim.kill()
	died := time.Now()
	_, when := b.begun(s, 2)
	within(t, "attempt 2 begins", when.Sub(died), restartMax)
	b.start(victim)
	b.await(s)
	for _, o := range b.several(3, "beside garbage") {
		b.await(o)
	}
}

// deliveredManyTimes copies the message of a job under other ids, while nobody takes any.
func deliveredManyTimes(t *testing.T, b *bench) {
	for _, w := range b.workers {
		if _, err := w.stop(); err != nil {
			t.Fatal(err)
		}
	}
	s := b.create(chunked("step_ms=200", 4))
	var message string
	waitFor(t, jobTimeout, "the ticket", func() bool {
		var err error
		message, err = b.rdb.HGet(t.Context(), taskKey+s.id+":0", "msg").Result()
		return err == nil
	})
	for i := range 6 {
		// The id is in the message too, at the same length.
		copied := fmt.Sprintf("%s:%d", s.id, i+1)
		b.plant(copied, strings.Replace(message, s.id+":0", copied, 1))
	}
	for _, w := range b.workers {
		b.start(w)
	}
	b.await(s)
	b.undisturbed([]*story{s})
	waitFor(t, jobTimeout, "all messages to be used up", func() bool {
		n, err := b.rdb.LLen(t.Context(), pendingKey).Result()
		return err == nil && n == 0
	})
	if runs := b.begins()[s.id]; len(runs) != 1 {
		t.Errorf("it was begun as %v", runs)
	}
}

// newerRecord makes a job of a version that the workers do not know: it waits for a newer one and is never dropped.
func newerRecord(t *testing.T, b *bench) {
	for _, w := range b.workers {
		if _, err := w.stop(); err != nil {
			t.Fatal(err)
		}
	}
	s := b.create(script("of a newer version"))
	key := "tf:j:" + s.id
	version, err := b.rdb.HGet(t.Context(), key, "v").Int()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.rdb.HSet(t.Context(), key, "v", strconv.Itoa(version+1), "a_newer_field", "ignored").Err(); err != nil {
		t.Fatal(err)
	}
	for _, w := range b.workers {
		b.start(w)
	}
	b.awaitWorkers(2)
	for _, o := range b.several(3, "of this version") {
		b.await(o)
	}
	waitFor(t, jobTimeout, "a worker to leave it", func() bool {
		return b.metric(b.workers[0], "telefuser_jobs_tickets_total", `result="newer"`) > 0 || b.metric(b.workers[1], "telefuser_jobs_tickets_total", `result="newer"`) > 0
	})
	if v, err := b.apis[0].client.get(t.Context(), s.id); err != nil || v.Status != "queued" {
		t.Errorf("for the old workers: %+v %v", v, err)
	}
	for _, stray := range b.strayRecords() {
		if strings.Contains(stray, "archived") {
			t.Error(stray)
		}
	}
	// The newer worker is one that knows this number.
	if err := b.rdb.HSet(t.Context(), key, "v", strconv.Itoa(version)).Err(); err != nil {
		t.Fatal(err)
	}
	came := time.Now()
	b.await(s)
	within(t, "a newer worker has done the job", time.Since(came), 30*time.Second)
}

// ticketAnswerLost loses the answer to the sending of a ticket, so that the client library sends it again and finds it there: that is success.
func ticketAnswerLost(t *testing.T, b *bench) {
	// A Redis that does not know the queue's script yet answers that first.
	b.await(b.create(script("the first ticket of this Redis")))
	for _, w := range b.workers {
		if _, err := w.stop(); err != nil {
			t.Fatal(err)
		}
	}
	api, prompt := b.apis[0], b.canary("its ticket is answered into the void")
	var lost atomic.Bool
	api.redis.set(watchCreate(prompt, goOn, goOn, func() bool { lost.Store(true); return false }))
	before := b.metric(api, "telefuser_jobs_ticket_errors_total")
	v, err := api.client.post(t.Context(), script(prompt), nil)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	s := b.ledger.accept(v, prompt)
	if !lost.Load() {
		t.Error("no answer was lost: the test proves nothing")
	}
	if now := b.metric(api, "telefuser_jobs_ticket_errors_total"); now != before {
		t.Errorf("%g tickets are said to have failed", now-before)
	}
	api.redis.heal()
	for _, w := range b.workers {
		b.start(w)
	}
	b.await(s)
	b.undisturbed([]*story{s})
}
