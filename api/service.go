package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/openapi"
)

// getHealth answers that the process lives; whether it is ready stands beside that.
func (s *Server) getHealth(c echo.Context) error {
	ctx := c.Request().Context()
	ready := s.notReadyReason(ctx) == ""
	workersUp := false
	if ready {
		workers, err := s.deps.Jobs.Workers(ctx)
		workersUp = err == nil && len(workers) > 0
	}
	health := openapi.Health{Status: openapi.HealthStatusHealthy, Ready: ready, Timestamp: time.Now().UTC(), Version: s.cfg.Version}
	health.PipelineReady = s.addStreamHealth(ctx, &health) || workersUp
	return c.JSON(http.StatusOK, health)
}

// getReady answers 200 or 503.
func (s *Server) getReady(c echo.Context) error {
	reason := s.notReadyReason(c.Request().Context())
	if reason == "" {
		return c.JSON(http.StatusOK, openapi.Ready{Status: openapi.ReadyStatusReady})
	}
	c.Response().Header().Set("Retry-After", "1")
	return c.JSON(http.StatusServiceUnavailable, openapi.Ready{Status: openapi.ReadyStatusNotReady, Reason: &reason})
}

// load is what there is to do, over all pipelines, and who does it.
type load struct {
	queued, running int64
	slots           int64
	workers         []jobs.WorkerInfo
}

func (s *Server) load(ctx context.Context) (load, error) {
	var l load
	for _, name := range sortedNames(s.models.pipelines) {
		counts, err := s.deps.Jobs.Counts(ctx, name)
		if err != nil {
			return load{}, err
		}
		l.queued += int64(counts.Queued)
		l.running += int64(counts.Running)
	}
	workers, err := s.deps.Jobs.Workers(ctx)
	if err != nil {
		return load{}, err
	}
	l.workers = workers
	for _, w := range workers {
		l.slots += int64(w.Slots)
	}
	return l, nil
}

// configured is how many jobs are meant to run at once.
func (s *Server) configured(l load) int64 {
	if s.cfg.ConcurrencyMax > 0 {
		return int64(s.cfg.ConcurrencyMax)
	}
	return l.slots
}

// getStatus answers GET /v1/service/status. Numbers are of the whole service; ids are the caller's own alone.
func (s *Server) getStatus(c echo.Context) error {
	ctx := c.Request().Context()
	l, err := s.load(ctx)
	if err != nil {
		return err
	}
	running, err := s.ownRunning(ctx, callerOf(c))
	if err != nil {
		return err
	}
	totals, err := s.taskCounts(ctx)
	if err != nil {
		return err
	}
	status := openapi.ServiceStatus{
		ServiceStatus: openapi.ServiceStatusServiceStatusIdle, CurrentTasks: running, ProcessingCount: l.running, MaxConcurrentProcessing: l.slots,
		ActiveTasks: l.queued + l.running, PendingTasks: l.queued, QueueSize: int64(s.cfg.QueuedMax), TotalTasks: totals.Created,
		CompletedTasks: totals.Completed, FailedTasks: totals.Failed, EffectiveMaxConcurrentTasks: l.slots,
		ConfiguredMaxConcurrentTasks: s.configured(l), ExecutionMode: openapi.ServiceStatusExecutionModeSerialSinglePipeline, Pool: []openapi.PoolMember{},
	}
	if len(running) > 0 {
		status.CurrentTask = &running[0]
	}
	if l.running > 0 {
		status.ServiceStatus = openapi.ServiceStatusServiceStatusActive
		if l.running >= l.slots {
			status.ServiceStatus = openapi.ServiceStatusServiceStatusBusy
		}
	}
	if l.slots > 1 {
		status.ExecutionMode = openapi.ServiceStatusExecutionModeConcurrentPipelinePool
	}
	for _, w := range l.workers {
		status.Pool = append(status.Pool, poolMember(w))
	}
	return c.JSON(http.StatusOK, status)
}

func poolMember(w jobs.WorkerInfo) openapi.PoolMember {
	member := openapi.PoolMember{ID: w.Owner, DeviceIds: []string{}, Status: openapi.PoolMemberStatusIdle}
	member.DeviceIds = append(member.DeviceIds, w.Devices...)
	if w.Busy > 0 {
		member.Status = openapi.PoolMemberStatusBusy
	}
	return member
}

// ownRunning lists the caller's running videos among the newest ones.
func (s *Server) ownRunning(ctx context.Context, who caller) ([]string, error) {
	page, _, err := s.deps.Jobs.List(ctx, who.tenant, jobs.ListQuery{Limit: videosLimitMax, Descending: true})
	if err != nil {
		return nil, err
	}
	running := []string{}
	for _, job := range page {
		if job.State == jobs.StateInProgress {
			running = append(running, job.ID)
		}
	}
	return running, nil
}
