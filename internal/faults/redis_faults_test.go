package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func redisFaults() []fault {
	return []fault{
		{"F09 Redis is killed", extentShort, redisEnds(func(b *bench) { b.redis.Kill() })},
		{"F09 Redis is stopped", extentFull, redisEnds(func(b *bench) { b.redis.Stop() })},
		{"F10 Redis is cut off for longer than a lease", extentShort, redisCut(2*(*lease) + time.Second)},
		{"F10 Redis is cut off for 60 s", extentFull, redisCut(time.Minute)},
		{"F10 Redis swallows everything for longer than a lease", extentFull, redisSilent},
		{"F11 Redis answers two seconds late", extentFull, redisLate},
		{"F11 Redis is frozen", extentFull, redisFrozen},
		{"F12 Redis is full", extentFull, redisFull},
	}
}

// busy makes a job for each worker that is under way for the time, and answers them when they are.
func (b *bench) busy(words string, chunks int) []*story {
	b.t.Helper()
	var all []*story
	for i := range b.workers {
		all = append(all, b.create(chunked(fmt.Sprintf("%s number %d", words, i), chunks)))
	}
	for _, s := range all {
		b.begun(s, 1)
	}
	return all
}

// undisturbed fails the test for each video that took more than one attempt.
func (b *bench) undisturbed(all []*story) {
	b.t.Helper()
	for _, s := range all {
		if r, err := b.record(s.id); err != nil || r.attempt != 1 {
			b.t.Errorf("%s (%s) took %d attempts: %v", s.id, s.words, r.attempt, err)
		}
	}
}

// refusedPrompt is that of the create that must be refused.
const refusedPrompt = "refused"

// noAnswers asks everything that needs Redis while it is away.
func (b *bench) noAnswers(id string) {
	b.t.Helper()
	api := b.apis[0].client
	_, err := api.post(b.ctx(), script(refusedPrompt), nil)
	b.unavailable("create", err)
	_, err = api.get(b.ctx(), id)
	b.unavailable("get", err)
	_, err = api.list(b.ctx())
	b.unavailable("list", err)
	waitFor(b.t, readyTimeout, "the API not to be ready", func() bool { return statusOf(api.ready(b.ctx())) == http.StatusServiceUnavailable })
	if err := api.call(b.ctx(), http.MethodGet, "/health", nil, nil, nil); err != nil {
		b.t.Errorf("the API is alive all the same: %v", err)
	}
}

// redisEnds ends redis-server with jobs running and waiting, and starts it again from its file.
func redisEnds(end func(*bench)) func(*testing.T, *bench) {
	return func(t *testing.T, b *bench) {
		running := b.busy("step_ms=600", 5)
		var waiting []*story
		for i := range 3 {
			waiting = append(waiting, b.create(script("accepted before "+strconv.Itoa(i))))
		}
		end(b)
		b.noAnswers(running[0].id)
		if err := b.redis.Restart(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		back := time.Now()
		b.awaitReady()
		after := b.create(script("after the restart"))
		within(t, "a create is answered", time.Since(back), 5*time.Second)
		for _, s := range append(waiting, after) {
			b.await(s)
		}
		within(t, "all waiting videos are done", time.Since(back), jobTimeout)
		for _, s := range running {
			b.await(s)
		}
		b.undisturbed(append(running, waiting...))
	}
}

// redisCut parts everybody from Redis: no run is stopped, what is done meanwhile is committed when the link is back.
func redisCut(outage time.Duration) func(*testing.T, *bench) {
	return func(t *testing.T, b *bench) {
		// One run ends while nobody can be told, the other goes on for longer than the cut.
		running := []*story{
			b.create(chunked("step_ms=700", 5)),
			b.create(chunked("step_ms=700 longer than the cut", int(outage/(700*time.Millisecond))+4)),
		}
		b.begun(running[0], 1)
		b.begun(running[1], 1)
		for _, n := range b.nodes() {
			n.redis.set(conduct{down: true})
		}
		cut := time.Now()
		b.noAnswers(running[0].id)
		pause(t, outage-time.Since(cut))
		for _, n := range b.nodes() {
			n.redis.heal()
		}
		back := time.Now()
		b.await(running[0])
		within(t, fmt.Sprintf("what was done during %s without Redis is committed", outage), time.Since(back), 5*time.Second)
		b.await(running[1])
		b.undisturbed(running)
	}
}

// redisSilent swallows what is said to Redis, so that nobody learns that it is away.
func redisSilent(t *testing.T, b *bench) {
	running := b.busy("step_ms=700", 5)
	for _, n := range b.nodes() {
		n.redis.set(conduct{silent: true})
	}
	cut := time.Now()
	_, err := b.apis[0].client.get(t.Context(), running[0].id)
	b.unavailable("get", err)
	within(t, "a get without an answer of Redis is refused", time.Since(cut), 4*time.Second)
	pause(t, 3*(*lease)-time.Since(cut))
	for _, n := range b.nodes() {
		n.redis.heal()
	}
	back := time.Now()
	for _, s := range running {
		b.await(s)
	}
	within(t, "all runs are committed", time.Since(back), 8*time.Second)
	b.undisturbed(running)
}

// redisLate holds every answer of Redis back for two seconds: requests are refused in time and do not pile up, leases are kept.
func redisLate(t *testing.T, b *bench) {
	running := b.busy("step_ms=700", 12)
	before := b.metric(b.apis[0], goroutinesMetric)
	for _, n := range b.nodes() {
		n.redis.set(conduct{delay: 2 * time.Second})
	}
	unknown := 0
	for i := range 5 {
		asked := time.Now()
		v, err := b.apis[0].client.post(t.Context(), script("late"), lateKey(i))
		if err == nil {
			b.ledger.accept(v, "late")
		} else {
			b.unavailable("create", err)
			unknown++
		}
		within(t, "a create on a late Redis is answered", time.Since(asked), 4*time.Second)
	}
	if now := b.metric(b.apis[0], goroutinesMetric); now < 0 || now > before+100 {
		t.Errorf("%g goroutines, %g before", now, before)
	}
	for _, n := range b.nodes() {
		n.redis.heal()
	}
	for _, s := range running {
		b.await(s)
	}
	b.undisturbed(running)
	// Whether a create that was refused had been written is unknown to its client, who comes again with the key.
	for i := range 5 {
		waitFor(t, jobTimeout, "the retry to be answered", func() bool {
			v, err := b.apis[1].client.post(t.Context(), script("late"), lateKey(i))
			if err == nil {
				b.ledger.accept(v, "late")
			}
			return err == nil
		})
	}
	t.Logf("measured: %d of 5 creates were refused", unknown)
	if n := len(b.found(b.apis[1].client, "late")); n != 5 {
		t.Errorf("%d videos for 5 keys", n)
	}
}

// lateKey is the idempotency key of a create on a late Redis.
func lateKey(i int) http.Header { return keyHeader("late " + strconv.Itoa(i)) }

// redisFull fills Redis up to the brim: what was accepted drains by itself, and new jobs are refused until there is room.
func redisFull(t *testing.T, b *bench) {
	running := b.busy("step_ms=500", 3)
	var waiting []*story
	for i := range 6 {
		waiting = append(waiting, b.create(script("waits in a full Redis "+strconv.Itoa(i))))
	}
	used, err := b.rdb.Info(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	if _, err := fmt.Sscanf(used[len("# Memory\r\n"):], "used_memory:%d", &bytes); err != nil {
		t.Fatal(err)
	}
	// Nine tenths are taken: creates are refused, ends are not.
	if err := b.rdb.ConfigSet(t.Context(), "maxmemory", strconv.FormatInt(bytes*10/9, 10)).Err(); err != nil {
		t.Fatal(err)
	}
	refused := holdsWithin(readyTimeout, func() bool {
		v, err := b.apis[0].client.post(t.Context(), script("one too many"), nil)
		if err == nil {
			b.ledger.accept(v, "one too many")
			return false
		}
		if !refusedPolitely(err) {
			t.Errorf("refused with %v", err)
		}
		return true
	})
	if !refused {
		t.Error("Redis is nearly full and jobs are taken")
	}
	for _, s := range append(running, waiting...) {
		b.await(s)
	}
	b.undisturbed(append(running, waiting...))
	if err := b.rdb.ConfigSet(t.Context(), "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	room := time.Now()
	b.await(b.create(script("there is room again")))
	within(t, "a job made after there was room is done", time.Since(room), 30*time.Second)
}

// redisFrozen stops redis-server for longer than a lease: connections stay, and nobody gets an answer.
func redisFrozen(t *testing.T, b *bench) {
	running := b.busy("step_ms=700", 5)
	if err := syscall.Kill(b.redis.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	frozen := time.Now()
	b.noAnswers(running[0].id)
	pause(t, 2*(*lease)+time.Second-time.Since(frozen))
	if err := syscall.Kill(b.redis.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	woke := time.Now()
	for _, s := range running {
		b.await(s)
	}
	within(t, "all runs are committed", time.Since(woke), 5*time.Second)
	b.undisturbed(running)
	// What was said to a frozen Redis is heard when it wakes up: a create that was refused may have made its video after all.
	for _, v := range b.found(b.apis[0].client, refusedPrompt) {
		b.await(b.ledger.accept(v, refusedPrompt))
	}
}
