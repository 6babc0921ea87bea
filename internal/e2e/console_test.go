package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"telefuser/internal/devstack"
)

// TestConsole drives the page at the root in a browser, with live sessions where there is a media server. CONSOLE_FPS_MIN and CONSOLE_FPS_SECONDS turn
// its count of frames into a measurement for a quiet machine.
func TestConsole(t *testing.T) {
	sdkDir := filepath.Join(toolsWith(t, "js/node_modules/playwright-core/package.json"), "js")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not on PATH: run `make deps-test`, or install the package nodejs")
	}
	chromium := browserPath(t)
	out := filepath.Join(repository(t), "out")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	reference := filepath.Join(t.TempDir(), "p.png")
	if err := os.WriteFile(reference, picture(t, 320, 240), 0o600); err != nil {
		t.Fatal(err)
	}
	dev, live := startConsoleDev(t)
	env := append(live, "BASE_URL="+dev, "SDK_DIR="+sdkDir, "CHROMIUM="+chromium, "OUT="+out, "PICTURE="+reference)
	for _, name := range []string{"FPS_MIN", "FPS_SECONDS"} {
		if value := inherited("CONSOLE_" + name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	if _, err := devstack.LookTool("versitygw"); err == nil {
		keys := startStack(t, stackOptions{apiArgs: []string{"--auth", "keys"}, noWorkers: true})
		env = append(env, "KEYS_URL="+keys.balancer.url, "API_KEY="+keys.newKey("known"))
	}
	for _, file := range []string{"console_batch.test.mjs", "console_live.test.mjs", "console_access.test.mjs"} {
		t.Run(strings.TrimSuffix(file, ".test.mjs"), func(t *testing.T) {
			p := start(t, spawn{name: "console", path: node, args: []string{"--test", "--test-reporter=spec", suite(t, file)}, env: env})
			p.waitEnd(t, browserTimeout)
			if p.err != nil {
				t.Errorf("%v\n%s%s", p.err, p.stdout, p.stderr)
			}
			t.Log(p.stdout)
		})
	}
}

// browserTimeout bounds one suite on a machine where a browser has to draw without a GPU beside everything else.
const browserTimeout = 6 * time.Minute

// startConsoleDev runs `telefuser dev`, and answers its address and what the suite is told about live sessions.
func startConsoleDev(t *testing.T) (url string, env []string) {
	t.Helper()
	dir := shortDir(t)
	o := spawn{name: "dev", path: program(t), dir: dir, args: []string{"dev", "--port", "0", "--data-dir", filepath.Join(dir, "data"), "--log-format", "json"}}
	path, err := devstack.LookTool("livekit-server")
	switch {
	case errors.Is(err, devstack.ErrNoTool):
		env = []string{"WITHOUT_LIVE=" + err.Error()}
	case err != nil:
		t.Fatal(err)
	default:
		o.env = []string{"TELEFUSER_TOOLS=" + filepath.Dir(path)}
	}
	dev := start(t, o)
	url = lineOf(t, dev, "ready")
	if env == nil {
		env = []string{"MEDIA_URL=" + lineOf(t, dev, "live")}
	}
	return url, env
}

// browserPath is a Chromium of this machine; without one the test is skipped.
func browserPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium is on PATH: install the package chromium")
	return ""
}
