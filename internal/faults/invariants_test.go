package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// settleTimeout is how long accepted jobs have to end after a fault, leftoverTimeout how long the janitor has for what nobody owns.
	settleTimeout   = 5 * time.Minute
	leftoverTimeout = 90 * time.Second
	// queueTimeout is how long the queue may hold messages of workers that died: its own lease, its allowance for clocks and its look round, with some room.
	queueTimeout = 150 * time.Second
	// artifactCount is how many objects a completed video has.
	artifactCount = 4
)

// record is what the bench reads of a job's record.
type record struct {
	state   string
	attempt int
	// requestID is that of the create.
	requestID string
	result    struct {
		VideoKey  string `json:"video_key"`
		SizeBytes int    `json:"size_bytes"`
		SHA256    string `json:"sha256"`
	}
}

func (b *bench) record(id string) (record, error) {
	f, err := b.rdb.HGetAll(context.Background(), "tf:j:"+id).Result()
	if err != nil || len(f) == 0 {
		return record{}, errors.Join(err, fmt.Errorf("%s has no record", id))
	}
	r := record{state: f["s"]}
	if r.attempt, err = strconv.Atoi(f["a"]); err != nil {
		return r, err
	}
	var spec struct {
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(f["spec"]), &spec); err != nil {
		return r, err
	}
	r.requestID = spec.RequestID
	if f["res"] != "" {
		err = json.Unmarshal([]byte(f["res"]), &r.result)
	}
	return r, err
}

// check looks at the invariants (a) to (f) when everything has settled, and fails the test for each that does not hold.
func (b *bench) check() {
	b.t.Helper()
	for _, f := range b.problems(false) {
		b.t.Error(f)
	}
}

// problems waits until everything has settled and answers what is wrong. A deep look also waits for the queue to be rid of what dead workers held.
func (b *bench) problems(deep bool) []finding {
	_ = holdsWithin(settleTimeout, func() bool { return b.ledger.waiting() == 0 }) // those that have not ended are found below
	all := b.ledger.all()
	wrong := b.videoProblems(all)
	wrong = append(wrong, b.lingering("objects", leftoverTimeout, b.strayObjects)...)
	wrong = append(wrong, b.lingering("temporary files", leftoverTimeout, b.strayFiles)...)
	wrong = append(wrong, b.lingering("webhooks", hookTimeout, b.hookProblems)...)
	queue, within := b.strayRecords, leftoverTimeout
	if deep {
		queue, within = func() []string { return append(b.strayRecords(), b.strayMessages()...) }, queueTimeout
	}
	wrong = append(wrong, b.lingering("in Redis", within, queue)...)
	if deep {
		wrong = append(wrong, b.lingering("in processes", leftoverTimeout, b.leaks)...)
	}
	b.ledger.mu.Lock()
	defer b.ledger.mu.Unlock()
	wrong = append(wrong, b.ledger.wrong...)
	b.ledger.wrong = nil
	return wrong
}

// lingering waits for strays to go.
func (b *bench) lingering(what string, within time.Duration, strays func() []string) []finding {
	var left []string
	if holdsWithin(within, func() bool { left = strays(); return len(left) == 0 }) {
		return nil
	}
	return []finding{{leftOver, fmt.Sprintf("%s after %s: %s", what, within, strings.Join(left[:min(len(left), 12)], "; "))}}
}

// strayObjects are objects that belong to no completed video, completed videos without their objects, and uploads that were left in the middle.
func (b *bench) strayObjects() []string {
	want := map[string]int{}
	for _, s := range b.ledger.all() {
		if s.end != nil && s.end.Status == "completed" {
			if r, err := b.record(s.id); err == nil {
				want[s.id] = r.attempt
			}
		}
	}
	counts := map[string]int{}
	var strays []string
	for _, key := range filesBelow(filepath.Join(b.bucketsDir(), bucket)) {
		parts := strings.Split(key, "/")
		switch {
		case len(parts) == 4 && parts[0] == "videos" && want[parts[1]] > 0 && parts[2] == strconv.Itoa(want[parts[1]]):
			counts[parts[1]]++
		case key != ".check":
			strays = append(strays, key)
		}
	}
	for id := range want {
		if counts[id] != artifactCount {
			strays = append(strays, fmt.Sprintf("%s has %d objects", id, counts[id]))
		}
	}
	return strays
}

// strayFiles are unfinished files of our processes.
func (b *bench) strayFiles() []string {
	var strays []string
	for _, n := range b.nodes() {
		for _, name := range filesBelow(filepath.Join(b.dir, n.name, "tmp")) {
			if !strings.HasPrefix(name, "engines/") {
				strays = append(strays, n.name+": "+name)
			}
		}
	}
	return strays
}

// filesBelow lists the files under a folder by their path from there; a folder that is not there has none.
func filesBelow(root string) []string {
	var found []string
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			if rel, err := filepath.Rel(root, path); err == nil {
				found = append(found, filepath.ToSlash(rel))
			}
		}
		return nil // what goes while we walk is no stray
	})
	return found
}

// strayRecords are rows of jobs that have ended where only open ones should be, and messages that nothing will deliver.
func (b *bench) strayRecords() []string {
	ctx := context.Background()
	var strays []string
	for _, key := range []string{"tf:q:scripted", "tf:r:scripted", "tf:outbox", "asynq:{tf.scripted}:archived", "asynq:{tf.scripted.again}:archived"} {
		members, err := b.rdb.ZRange(ctx, key, 0, -1).Result()
		if err != nil {
			return []string{err.Error()}
		}
		for _, m := range members {
			strays = append(strays, key+" "+m)
		}
	}
	return strays
}

// strayMessages are messages that the queue still holds although every job has ended.
func (b *bench) strayMessages() []string {
	ctx := context.Background()
	var strays []string
	keys, err := b.rdb.Keys(ctx, "asynq:{tf.*}:t:*").Result()
	if err != nil {
		return []string{err.Error()}
	}
	for _, key := range keys {
		state, _ := b.rdb.HGet(ctx, key, "state").Result()
		strays = append(strays, key+" "+state)
	}
	return strays
}

// The slack of a process that has worked beside one that is fresh: goroutines that serve what is left of connections, and the connections that pools keep.
const (
	goroutinesSlack   = 20
	descriptorsSlack  = 80
	goroutinesMetric  = "go_goroutines"
	descriptorsMetric = "process_open_fds"
)

// usage is what every process has of goroutines and descriptors.
func (b *bench) usage() map[string][2]float64 {
	all := map[string][2]float64{}
	for _, n := range b.nodes() {
		all[n.name] = [2]float64{b.metric(n, goroutinesMetric), b.metric(n, descriptorsMetric)}
	}
	return all
}

// leaks are processes that have more than they had when they were fresh.
func (b *bench) leaks() []string {
	for _, a := range b.apis {
		a.client.http.CloseIdleConnections()
	}
	var strays []string
	for name, now := range b.usage() {
		fresh := b.fresh[name]
		if now[0] < 0 || now[0] > fresh[0]+goroutinesSlack || now[1] > fresh[1]+descriptorsSlack {
			strays = append(strays, fmt.Sprintf("%s has %g goroutines and %g descriptors, fresh it had %g and %g", name, now[0], now[1], fresh[0], fresh[1]))
		}
	}
	return strays
}
