package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"telefuser/workers/models/weights"
)

// runModels runs `telefuser models` with arguments.
func runModels(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := newModelsCommand()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestModelsVerifyFailsOnAnEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	out, err := runModels(t, "verify", dir)
	if err == nil || exitCode(err) != 1 || !strings.Contains(out, "VAE: it is missing; looked for vae") || !strings.Contains(out, "WRONG") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = runModels(t, "verify", "--json", dir)
	var v weights.Verdict
	if err == nil || json.Unmarshal([]byte(out), &v) != nil || v.OK || len(v.Parts) != 4 {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := runModels(t, "verify", filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was verified")
	}
}

func TestModelsVerifyTinyWorld(t *testing.T) {
	dir := filepath.Join(os.Getenv("TELEFUSER_MODELS"), "tiny-world")
	if os.Getenv("TELEFUSER_MODELS") == "" {
		dir = "../../../shared/tiny-world"
	}
	if _, err := os.Stat(filepath.Join(dir, "dit.safetensors")); err != nil {
		t.Skipf("no weights of tiny-world in %s: set TELEFUSER_MODELS to the folder that holds tiny-world", dir)
	}
	out, err := runModels(t, "verify", "--deep", dir)
	if err != nil || !strings.Contains(out, "8313408") || strings.Contains(out, "WRONG") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestModelsProblemsAreCutShort(t *testing.T) {
	var out bytes.Buffer
	printProblems(&out, "VAE", make([]string, linesMax+3))
	if !strings.HasSuffix(out.String(), "VAE: and 3 more; --json has all\n") || strings.Count(out.String(), "\n") != linesMax+1 {
		t.Error(out.String())
	}
}

func TestModelsVerifyOpensTheTokenizer(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "tokenizer"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tokenizer", "spiece.model"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := runModels(t, "verify", dir); err == nil || !strings.Contains(out, "tokenizer: umt5: unusable tokenizer: unexpected EOF") {
		t.Errorf("%v\n%s", err, out)
	}
}
