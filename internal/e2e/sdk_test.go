package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"telefuser/internal/devstack"
)

func TestOpenAIJavaScript(t *testing.T) {
	t.Parallel()
	sdkDir := filepath.Join(toolsWith(t, "js/node_modules/openai/package.json"), "js")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not on PATH: run `make deps-test`, or install the package nodejs")
	}
	env := append(sdkServers(t), "SDK_DIR="+sdkDir)
	runSuite(t, spawn{name: "node", path: node, args: []string{"--test", "--test-reporter=spec", suite(t, "videos.test.mjs")}, env: env})
}

func TestOpenAIPython(t *testing.T) {
	t.Parallel()
	python := filepath.Join(toolsWith(t, "py/bin/python"), "py", "bin", "python")
	runSuite(t, spawn{name: "python", path: python, args: []string{suite(t, "test_videos.py")}, env: sdkServers(t)})
}

// toolsWith is the tools' folder, $TELEFUSER_TOOLS or .tools, that holds the file; without one the test is skipped.
func toolsWith(t *testing.T, file string) string {
	t.Helper()
	for _, dir := range []string{inherited("TELEFUSER_TOOLS"), filepath.Join(repository(t), ".tools")} {
		if _, err := os.Stat(filepath.Join(dir, file)); dir != "" && err == nil {
			return dir
		}
	}
	t.Skipf("%s is neither in $TELEFUSER_TOOLS nor in .tools: run `make sdks`, or for AIPerf `make aiperf`", file)
	return ""
}

func suite(t *testing.T, file string) string {
	t.Helper()
	return filepath.Join(repository(t), "internal", "e2e", "sdk", file)
}

// sdkServers starts what a suite of another language talks to, and answers its environment.
func sdkServers(t *testing.T) []string {
	t.Helper()
	if _, err := devstack.LookTool("versitygw"); err != nil {
		t.Skip(err)
	}
	dev := startDev(t)
	keys := startStack(t, stackOptions{apiArgs: []string{"--auth", "keys", "--creates-per-minute", "2"}, noWorkers: true})
	png := filepath.Join(t.TempDir(), "p.png")
	if err := os.WriteFile(png, picture(t, 64, 64), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{
		"BASE_URL=" + dev.url, "KEYS_URL=" + keys.balancer.url, "PICTURE=" + png,
		"API_KEY=" + keys.newKey("known"), "LIMITED_KEY=" + keys.newKey("limited"),
	}
}

// runSuite runs a suite to its end and shows what failed.
func runSuite(t *testing.T, o spawn) {
	t.Helper()
	p := start(t, o)
	p.waitEnd(t, suiteTimeout)
	out := p.stdout.String() + p.stderr.String()
	if p.err != nil {
		t.Errorf("%v\n%s", p.err, out)
	}
	if strings.Contains(out, "Ran 0 tests") || strings.Contains(out, "tests 0\n") {
		t.Error("the suite has no tests")
	}
}
