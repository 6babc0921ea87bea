package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// ticketMark is in every message that wakes a worker.
const ticketMark = "job:run:v1"

func apiFaults() []fault {
	return []fault{
		{"F01 an API dies before the write", extentFull, apiDiesBeforeTheWrite},
		{"F02 an API dies before its answer", extentShort, apiDiesBeforeItsAnswer},
		{"F03 an API dies between record and ticket", extentShort, apiDiesBeforeTheTicket},
		{"F04 one key, two bodies", extentFull, oneKeyTwoBodies},
	}
}

// watchCreate tells, on the cable between an API and Redis, the moments of one create: its record on the way, its ticket on the way, its ticket answered. A
// function that answers false holds the piece back and breaks the connection.
func watchCreate(canary string, record, ticket, answered func() bool) conduct {
	var created, ticketed atomic.Int64
	return conduct{
		onRequest: func(conn int64, piece []byte) bool {
			switch {
			case created.Load() == 0 && bytes.Contains(piece, []byte(canary)):
				created.Store(conn)
				return record()
			case created.Load() != 0 && ticketed.Load() == 0 && bytes.Contains(piece, []byte(ticketMark)):
				ticketed.Store(conn)
				return ticket()
			}
			return true
		},
		onAnswer: func(conn int64, _ []byte) bool {
			if ticketed.Load() == conn {
				ticketed.Store(-1)
				return answered()
			}
			return true
		},
	}
}

func goOn() bool { return true }

// canary is a prompt that nobody else has.
func (b *bench) canary(what string) string { return fmt.Sprintf("%s number %d", what, b.keys.Add(1)) }

// dying is a step of watchCreate at which an API is killed.
func dying(n *node) func() bool {
	return func() bool {
		n.kill()
		return false
	}
}

// found are the videos with the prompt.
func (b *bench) found(c *client, prompt string) []video {
	b.t.Helper()
	all, err := c.list(b.ctx())
	if err != nil {
		b.t.Fatalf("list: %v", err)
	}
	var some []video
	for _, v := range all {
		if v.Prompt == prompt {
			some = append(some, v)
		}
	}
	return some
}

func apiDiesBeforeTheWrite(t *testing.T, b *bench) {
	victim, prompt := b.apis[0], b.canary("never written")
	victim.redis.set(watchCreate(prompt, dying(victim), goOn, goOn))
	if v, err := victim.client.post(t.Context(), script(prompt), nil); err == nil || statusOf(err) != 0 {
		t.Errorf("an API that died answered: %+v %v", v, err)
	}
	victim.redis.heal()
	b.start(victim)
	b.awaitReady()
	if some := b.found(victim.client, prompt); len(some) != 0 {
		t.Errorf("a record without an answer and without a write: %v", some)
	}
}

func apiDiesBeforeItsAnswer(t *testing.T, b *bench) {
	for _, key := range []string{"lost answer " + b.canary(""), ""} {
		victim, other, prompt := b.apis[0], b.apis[1], b.canary("written and not answered")
		victim.redis.set(watchCreate(prompt, goOn, goOn, dying(victim)))
		var header http.Header
		if key != "" {
			header = keyHeader(key)
		}
		if _, err := victim.client.post(t.Context(), script(prompt), header); err == nil || statusOf(err) != 0 {
			t.Errorf("an API that died answered: %v", err)
		}
		victim.redis.heal()
		some := b.found(other.client, prompt)
		if len(some) != 1 {
			t.Fatalf("%d videos", len(some))
		}
		if key != "" {
			v, err := other.client.post(t.Context(), script(prompt), header)
			if err != nil || v.ID != some[0].ID {
				t.Errorf("the retry: %+v %v, want %s", v, err, some[0].ID)
			}
		}
		b.await(b.ledger.accept(some[0], prompt))
		if n := len(b.found(other.client, prompt)); n != 1 {
			t.Errorf("%d videos in the end", n)
		}
		b.start(victim)
		b.awaitReady()
	}
}

// apiDiesBeforeTheTicket kills an API when its record is written and its ticket not sent: the reaper sends it.
func apiDiesBeforeTheTicket(t *testing.T, b *bench) {
	victim, prompt := b.apis[0], b.canary("written without a ticket")
	victim.redis.set(watchCreate(prompt, goOn, dying(victim), goOn))
	if _, err := victim.client.post(t.Context(), script(prompt), nil); err == nil || statusOf(err) != 0 {
		t.Errorf("an API that died answered: %v", err)
	}
	died := time.Now()
	victim.redis.heal()
	some := b.found(b.apis[1].client, prompt)
	if len(some) != 1 {
		t.Fatalf("%d videos", len(some))
	}
	s := b.ledger.accept(some[0], prompt)
	_, when := b.begun(s, 1)
	within(t, "the job without a ticket begins", when.Sub(died), 15*time.Second)
	b.await(s)
	b.start(victim)
	b.awaitReady()
}

func oneKeyTwoBodies(t *testing.T, b *bench) {
	header, prompt := keyHeader(b.canary("one key")), b.canary("the first body")
	v, err := b.apis[0].client.post(t.Context(), script(prompt), header)
	if err != nil {
		t.Fatal(err)
	}
	s := b.ledger.accept(v, prompt)
	_, err = b.apis[1].client.post(t.Context(), script("the second body"), header)
	var answer *answerError
	if !errors.As(err, &answer) || answer.Status != http.StatusConflict || answer.Code != "idempotency_mismatch" {
		t.Errorf("another body: %v", err)
	}
	b.await(s)
}
