package arch_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "telefuser/"

// room is a folder with the rooms of ours that it may import and the outside libraries that only it may import.
type room struct {
	path string
	// mayImport lists rooms; a room may always import its own sub-folders.
	mayImport []string
}

// rooms is the table of docs/architecture.md. A package belongs to the longest path that is a prefix of its own.
var rooms = []room{
	{"openapi", nil},
	{"jobs", nil},
	{"storage", nil},
	{"workers/contract", nil},
	{"workers/media", []string{"internal/cputime"}},
	{"workers/gpu", nil},
	{"workers/kernels", []string{"workers/gpu"}},
	{"workers/models", []string{"workers/kernels", "workers/gpu", "workers/media", "workers/contract", "internal/cputime"}},
	{"workers/stage", nil},
	{"workers/pipeline", []string{"workers/models", "workers/stage", "workers/contract", "workers/media", "workers/gpu"}},
	{"workers/engine", []string{"workers/pipeline", "workers/contract", "workers/media", "internal/tracing"}},
	{"workers", []string{"jobs", "storage", "workers/engine", "workers/pipeline", "workers/contract", "workers/media", "internal/tracing"}},
	{"streaming", []string{"workers/media", "internal/tracing"}},
	{"streaming/livekit", []string{"streaming", "workers/media"}},
	{"api", []string{"openapi", "jobs", "storage", "streaming", "workers/contract", "internal/tracing"}},
	{"internal/outbound", nil},
	{"internal/tracing", nil},
	{"internal/cputime", nil},
	{"webhooks", []string{"jobs", "internal/outbound"}},
	{"internal/bench", []string{"openapi", "workers/kernels"}},
	{"internal/config", []string{"api", "jobs", "storage", "workers", "streaming", "workers/media"}},
	{"internal/kernelbuild", []string{"workers/gpu", "workers/kernels", "workers/models"}},
	{"internal/kernelbench", []string{"workers/gpu", "workers/kernels"}},
	{"internal/supply", nil},
	{"internal/devstack", nil},
	{"internal/e2e", nil},
	{"internal/faults", nil},
	{"internal/arch", nil},
	{"cmd", []string{"*"}},
}

// walls name, for each outside library, the only rooms that may import it.
var walls = map[string][]string{
	"github.com/labstack/echo/":      {"api"},
	"github.com/hibiken/asynq":       {"jobs"},
	"github.com/redis/go-redis/":     {"jobs", "streaming"},
	"github.com/go-redis/redis_rate": {"jobs"},
	"github.com/aws/":                {"storage"},
	"github.com/livekit/":            {"streaming/livekit", "internal/bench"},
	"github.com/standard-webhooks/":  {"webhooks"},
	"github.com/twitchtv/":           {"streaming/livekit"},
	"github.com/pion/":               {"streaming/livekit", "internal/bench"},
	"github.com/ebitengine/purego":   {"workers/gpu", "workers/media", "workers/kernels"},
	"github.com/NVIDIA/go-nvml":      {"workers/gpu"},
	"github.com/alicebob/miniredis":  {"internal/devstack"},
	"github.com/spf13/cobra":         {"cmd"},
	"github.com/knadh/koanf":         {"internal/config"},
	"google.golang.org/grpc":         {"workers/engine"},
	"go.opentelemetry.io/":           {"internal/tracing"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsKeepToTheirRooms(t *testing.T) {
	for _, p := range packages(t) {
		from := roomOf(t, p.ImportPath)
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, module) {
				checkArrow(t, p.ImportPath, from, imp)
				continue
			}
			checkWall(t, p.ImportPath, from, imp)
		}
	}
}

func checkArrow(t *testing.T, pkg string, from room, imp string) {
	t.Helper()
	to := roomOf(t, imp)
	if to.path == from.path || slices.Contains(from.mayImport, "*") || slices.Contains(from.mayImport, to.path) {
		return
	}
	t.Errorf("%s imports %s: the room %s may import only %v of ours", pkg, imp, from.path, from.mayImport)
}

func checkWall(t *testing.T, pkg string, from room, imp string) {
	t.Helper()
	for lib, owners := range walls {
		if strings.HasPrefix(imp, lib) && !slices.Contains(owners, from.path) {
			t.Errorf("%s imports %s: only %v may, the rest of the program must not know it", pkg, imp, owners)
		}
	}
}

func roomOf(t *testing.T, importPath string) room {
	t.Helper()
	rel := strings.TrimPrefix(importPath, module)
	var best room
	for _, r := range rooms {
		if (rel == r.path || strings.HasPrefix(rel, r.path+"/")) && len(r.path) > len(best.path) {
			best = r
		}
	}
	if best.path == "" {
		t.Fatalf("%s stands in no room of the table: add it to docs/architecture.md and to this test", importPath)
	}
	return best
}

// packages lists ours, without tests: a test may build whatever it needs around its room.
func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var pkgs []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list found only %d packages", len(pkgs))
	}
	return pkgs
}
