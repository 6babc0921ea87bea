package api

import (
	"context"
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
	ctx := c.Request().Context()
	l, err := s.load(ctx)
	if err != nil {
		return err
	}
	tasks, err := s.taskCounts(ctx)
	if err != nil {
		return err
	}
	figures := openapi.MetricsJSON{
		UptimeSeconds: time.Since(s.started).Seconds(), Tasks: tasks,
		Queue:        openapi.QueueCounts{Size: int64(s.cfg.QueuedMax), Pending: l.queued, Processing: l.running},
		MetricsCount: int64(len(families)), RegisteredStages: stages(families),
	}
	if err := s.addStreamFigures(ctx, &figures, families); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, figures)
}

// taskCounts are counted since the database was made, over all processes.
func (s *Server) taskCounts(ctx context.Context) (openapi.TaskCounts, error) {
	t, err := s.deps.Jobs.Totals(ctx)
	return openapi.TaskCounts{Created: t.Created, Completed: t.Completed, Failed: t.Failed, Cancelled: t.Cancelled}, err
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
