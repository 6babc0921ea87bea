package faults_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// downloadsMax is about how many videos are downloaded through the API, spread over all; of the others the store's bytes are compared.
const downloadsMax = 200

// course is what the workers' logs tell of one video.
type course struct {
	// begun are its attempts whose engine was started, committed those that say that they completed it.
	begun, committed []int
	// requests counts these lines by the id of the request that they name.
	requests map[string]int
}

// courses reads the workers' logs, by video.
func (b *bench) courses() map[string]*course {
	all := map[string]*course{}
	of := func(id string) *course {
		if all[id] == nil {
			all[id] = &course{requests: map[string]int{}}
		}
		return all[id]
	}
	for _, w := range b.workers {
		for _, l := range w.log.lines("attempt begins") {
			c := of(l.JobID)
			c.begun = append(c.begun, l.Attempt)
			c.requests[l.RequestID]++
		}
		for _, l := range w.log.lines("attempt completed the job") {
			c := of(l.JobID)
			c.committed = append(c.committed, l.Attempt)
			c.requests[l.RequestID]++
		}
	}
	return all
}

// begins are the attempts that workers say they began, by video.
func (b *bench) begins() map[string][]int {
	begun := map[string][]int{}
	for id, c := range b.courses() {
		begun[id] = c.begun
	}
	return begun
}

// videoProblems looks at every video that was accepted.
func (b *bench) videoProblems(all []*story) []finding {
	var wrong []finding
	courses := b.courses()
	every := max(1, len(all)/downloadsMax)
	sums := map[string]string{}
	for i, s := range all {
		c := courses[s.id]
		if c == nil {
			c = &course{}
		}
		wrong = append(wrong, b.problemsOf(s, c, i%every == 0, sums)...)
	}
	return wrong
}

// problemsOf looks at one video: it is there, its end is the one that was seen, its bytes are those of its record, it was committed once, and it was not run more often than
// faults explain.
func (b *bench) problemsOf(s *story, c *course, download bool, sums map[string]string) []finding {
	var wrong []finding
	bad := func(kind, format string, args ...any) {
		wrong = append(wrong, finding{kind, s.id + " (" + s.words + "): " + fmt.Sprintf(format, args...)})
	}
	var v video
	err := patiently(func() (err error) { v, err = b.apis[0].client.get(context.Background(), s.id); return err })
	if err != nil {
		bad(lost, "get: %v", err)
		return wrong
	}
	if s.end == nil {
		bad(stuck, "it is %s and never ended; seen %v, attempts %v", v.Status, s.seen, c.begun)
		return wrong
	}
	if v.outcome() != s.end.outcome() {
		bad(wrongCourse, "it ended as %s and is %s now", s.end.outcome(), v.outcome())
	}
	if !slices.Contains(s.want, v.outcome()) {
		bad(wrongCourse, "it is %s, want %v", v.outcome(), s.want)
	}
	r, err := b.record(s.id)
	if err != nil {
		bad(lost, "record: %v", err)
		return wrong
	}
	s.attempts = r.attempt
	if n := s.back(); n > max(0, r.attempt-1) {
		bad(wrongCourse, "it went back %d times in %d attempts: %v", n, r.attempt, s.seen)
	}
	course := s.courseProblems(c, r)
	for i := range course {
		course[i].text += "\n" + b.linesOf(s.id)
	}
	wrong = append(wrong, course...)
	if v.Status == "completed" {
		wrong = append(wrong, b.artifactProblems(s, r, download, sums)...)
	}
	return wrong
}

// linesOf are the log lines of every process that name a video.
func (b *bench) linesOf(id string) string {
	var all strings.Builder
	for _, n := range b.nodes() {
		for text := range strings.Lines(n.log.String()) {
			if strings.Contains(text, id) && !strings.Contains(text, `"msg":"request"`) {
				all.WriteString(n.name + " " + text)
			}
		}
	}
	return all.String()
}

// courseProblems holds what the workers say against the record: no attempt began twice, none after the one that committed, one committed at most, and every line names the request.
func (s *story) courseProblems(c *course, r record) []finding {
	var wrong []finding
	bad := func(kind, format string, args ...any) {
		wrong = append(wrong, finding{kind, s.id + " (" + s.words + "): " + fmt.Sprintf(format, args...)})
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(c.begun)))
	if len(sorted) != len(c.begun) || len(c.begun) > s.runsMax {
		bad(needlessRun, "attempts begun %v, %d are explained by faults", c.begun, s.runsMax)
	}
	if len(c.committed) > 1 {
		bad(doubleCommit, "attempts %v say that they completed it", c.committed)
	}
	if len(c.committed) == 1 && (r.state != "completed" || r.attempt != c.committed[0]) {
		bad(doubleCommit, "attempt %d says that it completed it; it is %s at attempt %d", c.committed[0], r.state, r.attempt)
	}
	for id := range c.requests {
		if id == "" || id != r.requestID || s.request != "" && id != s.request {
			bad(wrongLog, "a line of its attempts names request %q, the record %q, its client %q", id, r.requestID, s.request)
		}
	}
	return wrong
}

// artifactProblems compares the bytes of a completed video with its record, and with those of others that were made from the same request.
func (b *bench) artifactProblems(s *story, r record, download bool, sums map[string]string) []finding {
	var wrong []finding
	bad := func(format string, args ...any) {
		wrong = append(wrong, finding{wrongBytes, s.id + ": " + fmt.Sprintf(format, args...)})
	}
	stored, err := os.ReadFile(filepath.Join(b.bucketsDir(), bucket, filepath.FromSlash(r.result.VideoKey)))
	if err != nil {
		bad("stored bytes: %v", err)
		return wrong
	}
	sum := sha256.Sum256(stored)
	if hex.EncodeToString(sum[:]) != r.result.SHA256 || len(stored) != r.result.SizeBytes {
		bad("%d stored bytes are not the %d of the record", len(stored), r.result.SizeBytes)
	}
	if !strings.HasPrefix(r.result.VideoKey, fmt.Sprintf("videos/%s/%d/", s.id, r.attempt)) {
		bad("%s is not of attempt %d", r.result.VideoKey, r.attempt)
	}
	if other, known := sums[s.picture]; s.picture != "" && known && other != r.result.SHA256 {
		bad("it is not the video that others got for %s", s.picture)
	} else if s.picture != "" {
		sums[s.picture] = r.result.SHA256
	}
	if !download {
		return wrong
	}
	var got []byte
	err = patiently(func() (err error) { got, err = b.apis[1].client.content(context.Background(), s.id); return err })
	if err != nil || !bytes.Equal(got, stored) {
		bad("%d bytes downloaded of %d: %v", len(got), len(stored), err)
	}
	return wrong
}
