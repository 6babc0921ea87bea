package faults_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a build that is broken on purpose: in file, the one place that reads before becomes after. The tests that run matches in pkg must not pass with it.
type mutant struct {
	name   string
	file   string
	before string
	after  string
	pkg    string
	run    string
	args   []string
}

// mutants are the broken builds of the pass rule of docs/reliability.md.
func mutants() []mutant {
	return []mutant{
		{
			name: "no compare-and-set", file: "jobs/lua/common.lua",
			before: "return f[1] == 'in_progress' and f[2] == attempt",
			after:  "return f[1] ~= false",
			pkg:    "./jobs", run: "^TestWorkerFrozen$",
		},
		{
			name: "the queue's context runs the job", file: "jobs/consumer.go",
			before: "asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error { return c.handle(base, task) })",
			after:  "asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error { return c.handle(ctx, task) })",
			pkg:    "./internal/faults", run: "^TestFaults$/^F10_Redis_is_cut_off_for_60_s$", args: []string{"-faults=full"},
		},
		{
			name: "no lock of the device", file: "jobs/consumer.go",
			before: "\tselect {\n\tcase c.slots <- struct{}{}:\n\tdefault:\n\t\tc.store.metrics.tickets.WithLabelValues(\"busy\").Inc()\n\t\treturn errBusy\n\t}\n\tdefer func() { <-c.slots }()\n",
			after:  "",
			pkg:    "./jobs", run: "^TestQueueCannotTakeASlot$",
		},
		{
			name: "no reaper", file: "jobs/reaper.go",
			before: "\tlead, err := r.look(ctx)\n\tif err != nil || !lead {\n\t\treturn err\n\t}\n",
			after:  "\tlead, err := r.look(ctx)\n\tif err != nil || lead || !lead {\n\t\treturn err\n\t}\n",
			pkg:    "./internal/faults", run: "^TestFaults$/^F05_a_worker_is_killed_at_half$",
		},
		{
			name: "MaxRetry 0", file: "jobs/ticket.go",
			before: "const ticketRetries = 25",
			after:  "const ticketRetries = 0",
			pkg:    "./internal/faults", run: "^TestFaults$/^F36_a_job_is_of_a_newer_version$", args: []string{"-faults=full"},
		},
		{
			name: "a conflict is an error", file: "jobs/ticket.go",
			before: "if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {",
			after:  "if err != nil && (true || errors.Is(err, asynq.ErrTaskIDConflict)) {",
			pkg:    "./internal/faults", run: "^TestFaults$/^fact_7_", args: []string{"-faults=full"},
		},
		{
			name: "ParseMultipartForm", file: "api/multipart.go",
			before: "\tdefer r.dropLarge()\n",
			after:  "\tdefer r.dropLarge()\n\tif form, err := r.parts.ReadForm(32 << 20); err == nil {\n\t\tr.parts = multipart.NewReader(again(form, boundary), boundary)\n\t}\n",
			pkg:    "./api", run: "^(TestBadRequests|TestDroppedUploadsLeaveNothing|TestLargeTextHoldsMemoryUntilItIsClosed)$",
		},
		{
			name: "addresses are checked by their text", file: "internal/outbound/guard.go",
			before: "if !g.allows(to.Addr()) || !g.allowsPort(int(to.Port())) {",
			after:  "if !g.allowsPort(int(to.Port())) {",
			pkg:    "./internal/outbound", run: ".",
		},
		{
			name: "no keyframe for who joins", file: "streaming/livekit/keyframes.go",
			before: "\tk.wanted = true\n",
			after:  "",
			pkg:    "./streaming/livekit", run: "^TestALateViewerSeesTheNextPicture$",
		},
	}
}

// again is the mutant's own piece of code: it writes a form that was read whole, as ParseMultipartForm keeps it, for the parser behind it.
const again = `
func again(form *multipart.Form, boundary string) io.Reader {
	var all strings.Builder
	w := multipart.NewWriter(&all)
	_ = w.SetBoundary(boundary)
	for name, values := range form.Value {
		for _, v := range values {
			_ = w.WriteField(name, v)
		}
	}
	for name, files := range form.File {
		for _, f := range files {
			part, _ := w.CreateFormFile(name, f.Filename)
			if in, err := f.Open(); err == nil {
				_, _ = io.Copy(part, in)
			}
		}
	}
	_ = w.Close()
	return strings.NewReader(all.String())
}
`

// broken is the file's text with the mutant in it.
func (m mutant) broken(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(repository(t), filepath.FromSlash(m.file)))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), m.before); n != 1 {
		t.Fatalf("%s has the place of the mutant %q %d times, want once: it moved, move the mutant", m.file, m.name, n)
	}
	text := strings.Replace(string(raw), m.before, m.after, 1)
	if strings.Contains(m.after, "again(") {
		text += again
	}
	return text
}

// TestMutantsHaveTheirPlace keeps the mutants where the code is that they break.
func TestMutantsHaveTheirPlace(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) { m.broken(t) })
	}
}

// TestMutantsAreFound builds each broken program and wants the tests that guard its place to fail. It takes long.
func TestMutantsAreFound(t *testing.T) {
	need(t, extentLong)
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			root, dir := repository(t), t.TempDir()
			file := filepath.Join(dir, filepath.Base(m.file))
			replace := filepath.Join(dir, "overlay.json")
			table, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, filepath.FromSlash(m.file)): file}})
			if err != nil {
				t.Fatal(err)
			}
			for path, text := range map[string]string{file: m.broken(t), replace: string(table)} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{"test", "-count=1", "-timeout=15m", "-overlay", replace, "-run", m.run, m.pkg}
			if m.pkg == "./internal/faults" {
				args = append(append(args, m.args...), "-program-overlay="+replace)
			}
			cmd := exec.CommandContext(t.Context(), "go", args...)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			switch text := string(out); {
			case err == nil:
				t.Errorf("the tests pass with it:\n%s", text)
			case !strings.Contains(text, "--- FAIL"), strings.Contains(text, buildFailed):
				t.Errorf("no test failed, something else did: %v\n%s", err, text)
			default:
				t.Logf("found by:\n%s", failures(text))
			}
		})
	}
}

// failures are the first lines that name a test that failed and say why.
func failures(out string) string {
	var rows []string
	for row := range strings.Lines(out) {
		if (strings.Contains(row, "--- FAIL") || strings.Contains(row, "_test.go:")) && len(rows) < 6 {
			rows = append(rows, strings.TrimSpace(row)[:min(200, len(strings.TrimSpace(row)))])
		}
	}
	return strings.Join(rows, "\n")
}

// repository is the folder of go.mod.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
