package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// secrets are strings that must appear in no log. A test adds what it plants; at its end every watched process is searched.
type secrets struct {
	mu        sync.Mutex
	planted   []string
	processes []*process
}

// plant adds a string that no process may log, and answers it.
func (s *secrets) plant(secret string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planted = append(s.planted, secret)
	return secret
}

// watch adds a process whose log is searched.
func (s *secrets) watch(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes = append(s.processes, p)
}

// check searches all logs.
func (s *secrets) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.processes {
		for _, secret := range s.planted {
			for _, log := range []string{p.stderr.String(), p.stdout.String()} {
				if at := strings.Index(log, secret); at >= 0 {
					t.Errorf("%s logs the secret %.12q...: %s", p.name, secret, lineAround(log, at))
				}
			}
		}
	}
}

func lineAround(log string, at int) string {
	from := strings.LastIndexByte(log[:at], '\n') + 1
	to := strings.IndexByte(log[at:], '\n')
	if to < 0 {
		return log[from:]
	}
	return log[from : at+to]
}

// logLine is one line of a JSON log.
type logLine map[string]any

// text is the line's field as text, empty where it is missing.
func (l logLine) text(name string) string {
	if v, ok := l[name]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

// logLines parses what a process logged; a line that is no JSON object fails the test.
func logLines(t *testing.T, p *process) []logLine {
	t.Helper()
	var lines []logLine
	for line := range bytes.Lines([]byte(p.stderr.String())) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		var l logLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Errorf("%s logs a line that is no JSON object: %s", p.name, line)
			continue
		}
		lines = append(lines, l)
	}
	return lines
}
