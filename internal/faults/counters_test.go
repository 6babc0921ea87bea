package faults_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// moved says, by the beginning of a fault's name, what it moves in the processes that live on: a counter, behind it what its labels must hold. Where several are named, with
// a bar between them, the moment decides which.
type moved struct {
	fault    string
	counters []string
}

const (
	vanished     = "telefuser_jobs_processes_vanished_total"
	reaped       = "telefuser_jobs_reaped_total"
	attemptsOf   = "telefuser_worker_attempts_total "
	refusals     = `telefuser_http_requests_total status="503"`
	storeTrouble = "telefuser_store_retries_total|telefuser_stage_duration_seconds_sum stage=\"store\""
)

// movedBy holds every fault of TestFaults. A longer beginning goes before a shorter one. No counter means that what counts it is not there to be asked: the reason stands beside it.
func movedBy() []moved {
	return []moved{
		{"F01", []string{vanished}},
		{"F02", []string{vanished, "telefuser_tasks_replayed_total"}},
		{"F03", []string{vanished, "telefuser_jobs_outbox_sent_total|telefuser_jobs_claims_without_ticket_total"}},
		{"F04", []string{`telefuser_http_requests_total status="409"`}},
		{"F05 a worker is killed at after_commit", []string{vanished}},
		{"F05", []string{vanished, reaped}},
		{"F06", []string{attemptsOf + `outcome="out_of_memory"`}},
		{"F07", []string{attemptsOf + `outcome="device_lost"`}},
		{"F08", []string{attemptsOf + `outcome="stalled"`}},
		{"F09", []string{refusals}},
		{"F10", []string{refusals}},
		{"F11", []string{refusals}},
		{"F12", []string{`telefuser_jobs_refused_total reason="memory"`}},
		{"F15 every other call", []string{storeTrouble}},
		{"F15", []string{"telefuser_store_retries_total"}},
		{"F16", []string{storeTrouble}},
		{"F17", []string{storeTrouble}},
		{"F18", []string{storeTrouble}},
		{"F19", []string{`telefuser_http_requests_total content status="404"`}},
		{"F24 one worker is parted from Redis", []string{"telefuser_jobs_renew_errors_total", reaped}},
		{"F24 one worker is parted from the store", []string{storeTrouble}},
		{"F24", []string{refusals}},
		{"F27", []string{vanished, reaped + ` state="failed"`}},
		{"F28", []string{`telefuser_jobs_tickets_total result="undecodable"`}},
		{"F32", []string{`telefuser_jobs_tickets_total result="stale"|telefuser_jobs_tickets_total result="busy"`}},
		{"F33", []string{reaped, attemptsOf + `outcome="stale"`}},
		{"F35", nil}, // telefuser_jobs_given_back_total of the process that is stopped
		{"F36", []string{`telefuser_jobs_tickets_total result="newer"`}},
		{"F37 cancelled while it waits", []string{"telefuser_jobs_deleted_total"}},
		{"F37 cancelled while it is stored", []string{attemptsOf + `outcome="cancelled"`}},
		{"F37 cancelled when it is done", nil}, // nothing happens
		{"F37 deleted while Redis is cut off", []string{refusals}},
		{"F37", []string{"telefuser_jobs_deleted_total"}},
		{"F40", nil},    // telefuser_worker_ready_slots is 0; the test looks for itself
		{"fact 7", nil}, // the answer is found to be that of the ticket that was sent: there was no fault
	}
}

// countersOf are those that a fault must move.
func countersOf(t *testing.T, fault string) []string {
	t.Helper()
	for _, m := range movedBy() {
		if strings.HasPrefix(fault, m.fault) {
			return m.counters
		}
	}
	t.Errorf("%s: it is not said which counter it moves", fault)
	return nil
}

// counting is what counters stood at, in every process of a bench.
type counting struct {
	b        *bench
	counters []string
	before   map[int]string
}

// counting begins to watch counters.
func (b *bench) counting(counters []string) *counting {
	c := &counting{b: b, counters: counters, before: map[int]string{}}
	for _, n := range b.nodes() {
		c.before[n.pid()] = b.metricsOf(n)
	}
	return c
}

// look fails the test for each counter that has not moved. Some move only when a lease has run out.
func (c *counting) look() {
	c.b.t.Helper()
	for _, counter := range c.counters {
		if !holdsWithin(leftoverTimeout, func() bool { return slices.ContainsFunc(strings.Split(counter, "|"), c.moved) }) {
			c.b.t.Errorf("no process has moved %s", counter)
		}
	}
}

// moved says whether one counter stands higher than before. A process that has begun since then began at 0.
func (c *counting) moved(counter string) bool {
	name, labels, _ := strings.Cut(counter, " ")
	sum := 0.0
	for _, n := range c.b.nodes() {
		sum += sumOf(c.b.metricsOf(n), name, strings.Fields(labels)...) - sumOf(c.before[n.pid()], name, strings.Fields(labels)...)
	}
	return sum > 0
}

// metricsClient keeps no connection: the process that it asks may die and come back.
var metricsClient = &client{http: &http.Client{Timeout: askTimeout, Transport: &http.Transport{DisableKeepAlives: true}}}

// metricsOf is what a process shows, empty where it does not answer.
func (b *bench) metricsOf(n *node) string {
	base := ""
	for i, arg := range n.args {
		if arg == "--debug-addr" {
			base = "http://" + n.args[i+1]
		}
	}
	if n.client != nil {
		base = n.client.base
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, base+"/metrics", http.NoBody)
	if err != nil {
		return ""
	}
	text, err := metricsClient.send(req)
	if err != nil {
		return ""
	}
	return string(text)
}

// metric is the sum of a metric's series at a process whose labels hold all the texts, -1 where it does not answer.
func (b *bench) metric(n *node, name string, labels ...string) float64 {
	text := b.metricsOf(n)
	if text == "" {
		return -1
	}
	return sumOf(text, name, labels...)
}

// sumOf adds up a metric's series whose labels hold all the texts.
func sumOf(text, name string, labels ...string) float64 {
	sum := 0.0
	for row := range strings.Lines(text) {
		strange := slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(row, label) })
		if strange || !strings.HasPrefix(row, name+" ") && !strings.HasPrefix(row, name+"{") {
			continue
		}
		if value, err := strconv.ParseFloat(strings.TrimSpace(row[strings.LastIndexByte(row, ' '):]), 64); err == nil {
			sum += value
		}
	}
	return sum
}

// TestEveryFaultNamesItsCounters holds the table to the faults: none without a row, no row without a fault.
func TestEveryFaultNamesItsCounters(t *testing.T) {
	used := map[string]bool{}
	for _, f := range faults() {
		countersOf(t, f.name)
		for _, m := range movedBy() {
			if strings.HasPrefix(f.name, m.fault) {
				used[m.fault] = true
				break
			}
		}
	}
	for _, m := range movedBy() {
		if !used[m.fault] {
			t.Errorf("%q is no fault", m.fault)
		}
	}
}
