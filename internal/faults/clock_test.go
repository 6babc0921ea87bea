package faults_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clockCode gives a program a clock of its own: TF_SKEW seconds away from the true one, and TF_JUMP seconds more once the process has run for 8 s. Only tests are built
// with it; libraries that preload another clock reach no Go program.
const clockCode = `
var skewSeconds, jumpSeconds = envSeconds("TF_SKEW"), envSeconds("TF_JUMP")

func envSeconds(name string) int64 {
	text, _ := syscall.Getenv(name)
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	n := int64(0)
	for _, digit := range []byte(text) {
		n = n*10 + int64(digit-'0')
	}
	if negative {
		return -n
	}
	return n
}
`

// skewed builds the program with the clock.
func skewed(t *testing.T) string {
	t.Helper()
	// A test that is built with -trimpath does not know where its sources were.
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	raw, err := os.ReadFile(source)
	if err != nil {
		t.Skipf("the Go sources are not here: %v", err)
	}
	const now = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	text := string(raw)
	if strings.Count(text, now) != 1 {
		t.Skip("this Go has another clock")
	}
	text = strings.Replace(text, now, "\tsec, nsec, mono := runtimeNow()\n\tsec += skewSeconds\n\tif mono-startNano > 8e9 {\n\t\tsec += jumpSeconds\n\t}\n\tif mono == 0 {", 1)
	text = strings.Replace(text, "\t\"math/bits\"\n", "\t\"math/bits\"\n\t\"syscall\"\n", 1) + clockCode
	dir := t.TempDir()
	file, replace := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json")
	table, err := json.Marshal(map[string]map[string]string{"Replace": {source: file}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{file: text, replace: string(table)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path, err := build("telefuser-skewed", "-overlay", replace)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestClocks (F26, R13) gives one worker a clock that is five minutes fast, the other one that is five minutes slow, and one API a clock that jumps an hour back. Leases,
// claims and expiry go by the clock of Redis, so all that changes is what logs say.
func TestClocks(t *testing.T) {
	need(t, extentLong)
	t.Parallel()
	b := startBench(t, options{program: skewed(t)})
	for n, env := range map[*node][]string{
		b.workers[0]: {"TF_SKEW=300"}, b.workers[1]: {"TF_SKEW=-300"}, b.apis[0]: {"TF_JUMP=-3600"},
	} {
		n.env = append(n.env, env...)
		b.restart(n)
	}
	b.awaitReady()
	b.awaitWorkers(2)
	before := b.several(4, "before the jump")
	b.settled(before)
	for i, w := range b.workers {
		for _, l := range w.log.lines("attempt begins") {
			if off := time.Since(l.Time).Abs(); off < 4*time.Minute {
				t.Fatalf("the clock of worker%d is right but for %s: the test proves nothing", i, off)
			}
		}
	}
	running := b.busy("step_ms=500", 12) // longer than two leases
	pause(t, 8*time.Second)
	b.settled(running)
	after := b.several(4, "after the jump")
	b.settled(after)
	first, err := b.apis[0].client.get(t.Context(), before[0].id)
	b.must(err)
	last, err := b.apis[1].client.get(t.Context(), after[3].id)
	b.must(err)
	if last.CreatedAt < first.CreatedAt || time.Since(time.Unix(last.CreatedAt, 0)).Abs() > time.Minute {
		t.Errorf("created at %d, then at %d", first.CreatedAt, last.CreatedAt)
	}
	for range b.workers {
		s := b.create(chunked("step_ms=400", 5))
		victim, _ := b.begun(s, 1)
		b.ledger.disrupt()
		victim.kill()
		died := time.Now()
		waitFor(t, jobTimeout, "attempt 2", func() bool { r, err := b.record(s.id); return err == nil && r.attempt == 2 })
		within(t, "attempt 2 begins although clocks differ", time.Since(died), restartMax)
		b.start(victim)
		b.await(s)
	}
	b.check()
}
