package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	dto "github.com/prometheus/client_model/go"

	"telefuser/openapi"
)

// getMetricsJSON answers GET /v1/service/metrics/json.
func (s *Server) getMetricsJSON(c echo.Context) error {
	families, err := s.deps.Registry.Gather()
	if err != nil {
		return err
	}
	l, err := s.load(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, openapi.MetricsJSON{
		UptimeSeconds: time.Since(s.started).Seconds(), Tasks: sumTasks(families),
		Queue:        openapi.QueueCounts{Size: int64(s.cfg.QueuedMax), Pending: l.queued, Processing: l.running},
		MetricsCount: int64(len(families)), RegisteredStages: stages(families),
	})
}

// taskCounts sums what this process has counted.
func (s *Server) taskCounts() (openapi.TaskCounts, error) {
	families, err := s.deps.Registry.Gather()
	return sumTasks(families), err
}

// sumTasks reads the counters of all rooms out of the registry, whoever registered them.
func sumTasks(families []*dto.MetricFamily) openapi.TaskCounts {
	return openapi.TaskCounts{
		Created: sum(families, "telefuser_tasks_created_total"), Completed: sum(families, "telefuser_tasks_completed_total"),
		Failed: sum(families, "telefuser_tasks_failed_total"), Cancelled: sum(families, "telefuser_tasks_cancelled_total"),
	}
}

func sum(families []*dto.MetricFamily, name string) int64 {
	total := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return int64(total)
}

// stages are the values of the label stage over all metrics that have it.
func stages(families []*dto.MetricFamily) []string {
	names := []string{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "telefuser_") {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "stage" && !slices.Contains(names, label.GetValue()) {
					names = append(names, label.GetValue())
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
