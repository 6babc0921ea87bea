package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"telefuser/internal/config"
	"telefuser/streaming/livekit"
	"telefuser/workers/media"
)

// everyMetric is the registry of a process with everything in it, and what a scrape of its API says.
type everyMetric struct {
	// labels are those of each metric, by name.
	labels map[string][]string
	scrape string
}

// allMetrics makes every role in one process, as the program makes them, and reads the registry and a scrape of it.
func allMetrics(t *testing.T) everyMetric {
	t.Helper()
	mini := miniredis.RunT(t)
	c := config.Default()
	c.Redis.URL, c.DataDir, c.HTTP.Auth, c.HTTP.MetricsPublic = "redis://"+mini.Addr()+"/0", t.TempDir(), "off", true
	p, err := openParts(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.close(context.WithoutCancel(t.Context())) })
	rooms, err := livekit.New(livekit.Config{URL: "ws://127.0.0.1:1", APIKey: "key", APISecret: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if p.live, err = openLive(p, rooms); err != nil {
		t.Fatal(err)
	}
	if err := p.live.addWorkers(t.Context(), p, "terrain"); errors.Is(err, media.ErrEncoder) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	registry := newRegistry(t.Context(), p)
	registry.MustRegister(p.live.collectors()...)
	registry.MustRegister(gpuCollector{})
	if _, err := newWorker(p, "terrain", registry, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := newSender(p, registry); err != nil {
		t.Fatal(err)
	}
	server, err := newAPI(p, registry, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	get := func(path string) string {
		res, err := http.Get(web.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNotFound {
			t.Fatalf("%s: %d %s, %v", path, res.StatusCode, body, err)
		}
		return string(body)
	}
	get("/v1/videos")
	get("/v1/videos/video_00000000000000000000000000")
	return everyMetric{labels: described(registry), scrape: get("/metrics")}
}

var descPattern = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// described lists the metrics of a registry with their labels, those that have no sample yet among them.
func described(registry *prometheus.Registry) map[string][]string {
	descs := make(chan *prometheus.Desc)
	go func() { registry.Describe(descs); close(descs) }()
	labels := map[string][]string{}
	for d := range descs {
		if m := descPattern.FindStringSubmatch(d.String()); m != nil {
			labels[m[1]] = strings.Split(m[2], ",")
		}
	}
	return labels
}

// find answers the labels of a metric as an expression names it.
func (e everyMetric) find(name string) (labels []string, ok bool) {
	if labels, ok := e.labels[name]; ok {
		return labels, true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, cut := strings.CutSuffix(name, suffix); cut {
			if labels, ok := e.labels[base]; ok {
				return append(slices.Clone(labels), "le"), true
			}
		}
	}
	return nil, false
}

var (
	// selectorPattern finds metrics of ours and of the runtime with their matchers.
	selectorPattern = regexp.MustCompile(`\b((?:telefuser|go|process)_[a-z0-9_]+)(?:\{([^}]*)\})?`)
	matcherPattern  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	routePattern    = regexp.MustCompile(`route(?:=~|=)"([^"]*)"`)
	groupPattern    = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
	stringPattern   = regexp.MustCompile(`"[^"]*"`)
	// targetLabels are put on by Prometheus.
	targetLabels = []string{"instance", "job"}
)

// problems of an expression: names and labels that the program does not have.
func (e everyMetric) problems(expr string) []string {
	var wrong []string
	bare := stringPattern.ReplaceAllString(expr, `""`)
	if strings.Count(bare, "(") != strings.Count(bare, ")") || strings.Count(bare, "{") != strings.Count(bare, "}") {
		wrong = append(wrong, "brackets do not match")
	}
	known := slices.Clone(targetLabels)
	found := selectorPattern.FindAllStringSubmatch(bare, -1)
	for _, m := range found {
		labels, ok := e.find(m[1])
		if !ok {
			wrong = append(wrong, "no metric "+m[1])
		}
		known = append(known, labels...)
		for _, l := range matcherPattern.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(append(labels, targetLabels...), l[1]) {
				wrong = append(wrong, fmt.Sprintf("%s has no label %s", m[1], l[1]))
			}
		}
	}
	for _, g := range groupPattern.FindAllStringSubmatch(bare, -1) {
		for l := range strings.SplitSeq(g[1], ",") {
			if l = strings.TrimSpace(l); l != "" && !slices.Contains(known, l) {
				wrong = append(wrong, "no label "+l)
			}
		}
	}
	for _, m := range routePattern.FindAllStringSubmatch(expr, -1) {
		for route := range strings.SplitSeq(m[1], "|") {
			if !strings.Contains(e.scrape, `route="`+route+`"`) {
				wrong = append(wrong, "no route "+route)
			}
		}
	}
	if len(found) == 0 {
		wrong = append(wrong, "no metric at all")
	}
	return wrong
}

// alertRules is a file of rules as Prometheus reads it; an unknown field is an error.
type alertRules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// TestDashboardsAndAlertsNameRealMetrics holds the files of deploy/ to the program.
func TestDashboardsAndAlertsNameRealMetrics(t *testing.T) {
	e := allMetrics(t)
	for line := range strings.Lines(e.scrape) {
		name, _, _ := strings.Cut(strings.Fields(line)[0], "{")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, ok := e.find(name); !ok && !strings.HasPrefix(name, "go_") {
			t.Errorf("the scrape has %s, which the registry does not describe", name)
		}
	}
	for _, f := range alertExpressions(t) {
		for _, p := range e.problems(f.expr) {
			t.Errorf("alert %s: %s in %s", f.name, p, f.expr)
		}
	}
	for _, f := range dashboardExpressions(t) {
		for _, p := range e.problems(strings.NewReplacer("$__rate_interval", "5m", "$pipeline", "x", "$instance", "x").Replace(f.expr)) {
			t.Errorf("panel %q: %s in %s", f.name, p, f.expr)
		}
	}
	// The check is believed only while it finds what is wrong.
	for expr, want := range map[string]string{
		`rate(telefuser_no_such_total[5m])`:                           "no metric telefuser_no_such_total",
		`telefuser_jobs_jobs{status="queued"}`:                        "no label status",
		`sum by (tenant) (telefuser_jobs_jobs)`:                       "no label tenant",
		`sum(rate(telefuser_frames_total[5m])`:                        "brackets",
		`telefuser_http_requests_total{route=~"/v1/videos|/v1/vids"}`: "no route /v1/vids",
		`up == 0`: "no metric at all",
	} {
		if got := strings.Join(e.problems(expr), "; "); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
	// What names a user or a job never becomes a label.
	for name, labels := range e.labels {
		for _, l := range labels {
			if slices.Contains([]string{"tenant", "job_id", "session", "session_id", "key", "key_id", "video", "id", "trace_id"}, l) {
				t.Errorf("%s has the label %s", name, l)
			}
		}
	}
}

type expression struct{ name, expr string }

func alertExpressions(t *testing.T) []expression {
	t.Helper()
	text, err := os.Open(filepath.Join("..", "..", "deploy", "prometheus", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var rules alertRules
	d := yaml.NewDecoder(text)
	d.KnownFields(true)
	if err := d.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []expression
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			all = append(all, expression{r.Alert, r.Expr})
			if r.Alert == "" || r.Annotations["summary"] == "" || r.Annotations["do"] == "" || !slices.Contains([]string{"page", "ticket"}, r.Labels["severity"]) {
				t.Errorf("alert %q lacks a name, a summary, a word on what to do or a severity", r.Alert)
			}
			if !strings.Contains(string(docs), "`"+r.Alert+"`") {
				t.Errorf("docs/operations.md says nothing of the alert %s", r.Alert)
			}
		}
	}
	if len(all) < 10 {
		t.Errorf("only %d alerts", len(all))
	}
	return all
}

func dashboardExpressions(t *testing.T) []expression {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "grafana", "telefuser.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		UID, Title string
		Panels     []struct {
			ID      int
			Title   string
			Type    string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, RefID string }
		}
		Templating struct {
			List []struct{ Name, Type string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	var all []expression
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x > 23 {
					t.Fatalf("panel %q lies on %q, or outside", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			all = append(all, expression{p.Title, target.Expr})
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
	}
	if board.UID == "" || board.Title == "" || len(all) < 20 {
		t.Errorf("dashboard %q %q has %d expressions", board.UID, board.Title, len(all))
	}
	return all
}
