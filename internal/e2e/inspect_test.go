package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// leftoverTimeout is how long the janitor has to remove what nobody owns.
const leftoverTimeout = 20 * time.Second

// checkObject is the one small object by which a store driver looks whether its bucket can be written.
const checkObject = ".check"

// artifactCount is how many objects a completed video has: video, thumbnail, spritesheet, manifest.
const artifactCount = 4

// manifest is what the tests read of the manifest beside a video.
type manifest map[string]any

// find answers the first text with the name at any depth.
func (m manifest) find(name string) string { return findText(m, name) }

func findText(tree any, name string) string {
	switch x := tree.(type) {
	case manifest:
		return findText(map[string]any(x), name)
	case map[string]any:
		if s, ok := x[name].(string); ok {
			return s
		}
		for _, v := range x {
			if s := findText(v, name); s != "" {
				return s
			}
		}
	case []any:
		for _, v := range x {
			if s := findText(v, name); s != "" {
				return s
			}
		}
	}
	return ""
}

// checkArtifact compares what a client downloads with the file in the store and with the digest in the manifest.
func (s *stack) checkArtifact(v video, attempt int) []byte {
	s.t.Helper()
	mp4 := s.client.content(s.t, v.ID, "")
	checkFile(s.t, v, mp4)
	dir := filepath.Join(s.bucketsDir(), bucket, "videos", v.ID, strconv.Itoa(attempt))
	var m manifest
	readJSON(s.t, filepath.Join(dir, "manifest.json"), &m)
	if want := digest(mp4); m.find("sha256") != want && !strings.Contains(fmt.Sprint(m), want) {
		s.t.Errorf("%s: the manifest does not hold the digest %s of the download: %v", v.ID, want, m)
	}
	return mp4
}

// checkStore waits until the bucket holds the artifacts of the given completed videos, of the given attempts, and nothing else but inputs.
func (s *stack) checkStore(attempts map[string]int) {
	s.t.Helper()
	var strange []string
	clean := holdsWithin(leftoverTimeout, func() bool {
		strange = s.strangeObjects(attempts)
		return len(strange) == 0
	})
	if !clean {
		s.t.Errorf("in the bucket after %s:\n%s", leftoverTimeout, strings.Join(strange, "\n"))
	}
}

func (s *stack) strangeObjects(attempts map[string]int) []string {
	counts := map[string]int{}
	var strange []string
	for _, key := range s.objects() {
		parts := strings.Split(key, "/")
		if len(parts) == 4 && parts[0] == "videos" && parts[2] == strconv.Itoa(attempts[parts[1]]) {
			counts[parts[1]]++
			continue
		}
		if key != checkObject {
			strange = append(strange, "leftover: "+key)
		}
	}
	for id := range attempts {
		if counts[id] != artifactCount {
			strange = append(strange, fmt.Sprintf("%s has %d objects", id, counts[id]))
		}
	}
	return strange
}

// awaitStoring waits for the first object of a video, as closely as one can from outside: all of them take some milliseconds.
func (s *stack) awaitStoring(id string) {
	s.t.Helper()
	first := filepath.Join(s.bucketsDir(), bucket, "videos", id)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for started := time.Now(); ; <-tick.C {
		if _, err := os.Stat(first); err == nil {
			return
		}
		if time.Since(started) > videoTimeout {
			s.t.Fatal("nothing was stored")
		}
	}
}

// checkTemp waits until no process of the stack has an unfinished file.
func (s *stack) checkTemp() {
	s.t.Helper()
	var left []string
	clean := holdsWithin(leftoverTimeout, func() bool {
		left = left[:0]
		for _, entry := range files(s.t, s.dir) {
			if strings.Contains(entry, "/tmp/") && !strings.Contains(entry, "/tmp/engines/") {
				left = append(left, entry)
			}
		}
		return len(left) == 0
	})
	if !clean {
		s.t.Errorf("temporary files after %s: %v", leftoverTimeout, left)
	}
}

// engines lists the process ids of the engines that work below a data directory.
func (s *stack) engines(name string) []int {
	s.t.Helper()
	return enginesBelow(s.t, filepath.Join(s.dir, name))
}

// enginesBelow finds engine processes by their command line.
func enginesBelow(t *testing.T, dir string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("no /proc: engines cannot be found from outside")
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		args := bytes.Split(line, []byte{0})
		if err == nil && len(args) > 1 && string(args[1]) == "engine" && bytes.Contains(line, []byte(dir+"/")) {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// awaitEngine waits until a worker has an engine, and answers its process id.
func (s *stack) awaitEngine(name string) int {
	s.t.Helper()
	var pids []int
	waitFor(s.t, readyTimeout, "an engine of "+name, func() bool {
		pids = s.engines(name)
		return len(pids) > 0
	})
	return pids[0]
}

// awaitAttempt waits until the worker logs that it begins an attempt at a job, and answers when it did.
func awaitAttempt(t *testing.T, p *process, id string, attempt int) time.Time {
	t.Helper()
	var at time.Time
	waitFor(t, videoTimeout, fmt.Sprintf("attempt %d of %s at %s", attempt, id, p.name), func() bool {
		for _, l := range logLines(t, p) {
			if l.text("job_id") == id && l.text("attempt") == strconv.Itoa(attempt) {
				parsed, err := time.Parse(time.RFC3339Nano, l.text("time"))
				if err != nil {
					t.Fatalf("%s logs no time: %v", p.name, l)
				}
				at = parsed
				return true
			}
		}
		return false
	})
	return at
}

// checkStoredVideos waits until the folder of videos holds the given ones, each of its first attempt, whatever inputs are kept beside them.
func (s *stack) checkStoredVideos(ids []string) {
	s.t.Helper()
	want := map[string]int{}
	for _, id := range ids {
		want[id] = 1
	}
	var strange []string
	clean := holdsWithin(leftoverTimeout, func() bool {
		strange = slices.DeleteFunc(s.strangeObjects(want), func(key string) bool {
			return strings.HasPrefix(key, "leftover: ") && !strings.Contains(key, "videos/")
		})
		return len(strange) == 0
	})
	if !clean {
		s.t.Errorf("in the bucket after %s:\n%s", leftoverTimeout, strings.Join(strange, "\n"))
	}
}
