package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	dto "github.com/prometheus/client_model/go"

	"telefuser/openapi"
	"telefuser/streaming"
)

// getStreamHealth answers GET /v1/stream/health. What is wrong stands in the body: the process answers in any case.
func (s *Server) getStreamHealth(c echo.Context) error {
	h, err := s.deps.Sessions.Health(c.Request().Context(), "")
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, streamHealth(h))
}

func streamHealth(h streaming.Health) openapi.StreamHealth {
	return openapi.StreamHealth{Status: openapi.StreamHealthStatus(h.Status()), LivekitConnected: h.MediaConnected, WorkersTotal: h.WorkersTotal,
		WorkersIdle: h.WorkersIdle, WorkersBusy: h.WorkersBusy, WorkersFailed: h.WorkersFailed, QueuedSessions: h.QueuedSessions}
}

// addStreamHealth puts the live sessions beside the health of the process, and answers whether one of their workers serves. Without their records it leaves
// the numbers out, for they are not known.
func (s *Server) addStreamHealth(ctx context.Context, out *openapi.Health) bool {
	if s.deps.Sessions == nil {
		return false
	}
	service, transport := openapi.HealthServiceTypeStream, openapi.HealthTransportLivekit
	out.ServiceType, out.Transport = &service, &transport
	h, err := s.deps.Sessions.Health(ctx, "")
	if err != nil {
		return false
	}
	if s.cfg.Stream.Primary {
		out.Status = openapi.HealthStatus(h.Status())
	}
	out.LivekitConnected, out.WorkersTotal, out.WorkersIdle, out.WorkersBusy, out.WorkersFailed, out.QueuedSessions =
		&h.MediaConnected, &h.WorkersTotal, &h.WorkersIdle, &h.WorkersBusy, &h.WorkersFailed, &h.QueuedSessions
	return h.Ready()
}

// addStreamMetadata says how live sessions are run here.
func (s *Server) addStreamMetadata(ctx context.Context, out *openapi.ServiceMetadata) error {
	if s.deps.Sessions == nil {
		return nil
	}
	h, err := s.deps.Sessions.Health(ctx, "")
	if err != nil {
		return err
	}
	service, transport, mode := openapi.ServiceMetadataServiceTypeStream, openapi.ServiceMetadataTransportLivekit, openapi.ServiceMetadataWorkerModeProcess
	status, ready, url, cfg := openapi.ServiceMetadataStatus(h.Status()), h.Ready(), s.deps.Rooms.URL(), s.cfg.Stream
	idle, longest, autoscaling := cfg.ControlIdleTimeout.Seconds(), cfg.SessionTimeout.Seconds(), false
	out.ServiceType, out.Transport, out.WorkerMode, out.Status, out.Ready, out.LivekitURL = &service, &transport, &mode, &status, &ready, &url
	out.LivekitConnected, out.WorkersTotal, out.WorkersIdle, out.WorkersBusy, out.WorkersFailed, out.QueuedSessions =
		&h.MediaConnected, &h.WorkersTotal, &h.WorkersIdle, &h.WorkersBusy, &h.WorkersFailed, &h.QueuedSessions
	out.NumWorkers, out.QueueSize, out.ControlIdleTimeout, out.SessionTimeout, out.AutoscalingEnabled = &cfg.NumWorkers, &cfg.QueueSize, &idle, &longest, &autoscaling
	out.ConfiguredMaxSessionsPerWorker = orNullCount(cfg.SessionsPerWorkerMax)
	out.SessionCapacity = &openapi.SessionCapacity{ConfiguredLimit: orNullCount(cfg.SessionsPerWorkerMax), EffectiveCapacity: h.SlotsTotal, Sessions: h.SlotsBusy}
	workers, widest := []openapi.StreamWorker{}, 0
	for _, w := range h.Workers {
		widest = max(widest, w.Slots)
		workers = append(workers, openapi.StreamWorker{ID: w.ID, Pipeline: w.Pipeline, Status: openapi.StreamWorkerStatus(w.Status), SessionsMax: w.Slots,
			Sessions: w.Busy, DeviceIds: append([]string{}, w.Devices...)})
	}
	out.Workers, out.MaxSessionsPerWorker = &workers, &widest
	out.Entrypoints = append(out.Entrypoints, "/v1/stream/sessions")
	return nil
}

// addStreamFigures puts the main figures of live sessions beside those of jobs.
func (s *Server) addStreamFigures(ctx context.Context, out *openapi.MetricsJSON, families []*dto.MetricFamily) error {
	if s.deps.Sessions == nil {
		return nil
	}
	h, err := s.deps.Sessions.Health(ctx, "")
	if err != nil {
		return err
	}
	service, transport, health, serving := openapi.MetricsJSONServiceTypeStream, openapi.MetricsJSONTransportLivekit, streamHealth(h), servingSums(families)
	out.ServiceType, out.Transport, out.Livekit, out.Serving = &service, &transport, &health, &serving
	return nil
}

// servingSums adds up the counters and gauges of live sessions over their labels; of histograms it takes how much was observed and how often.
func servingSums(families []*dto.MetricFamily) map[string]float64 {
	sums := map[string]float64{}
	for _, family := range families {
		name, serving := strings.CutPrefix(family.GetName(), "telefuser_serving_")
		if !serving {
			continue
		}
		for _, m := range family.GetMetric() {
			if h := m.GetHistogram(); h != nil {
				sums[name+"_sum"] += h.GetSampleSum()
				sums[name+"_count"] += float64(h.GetSampleCount())
				continue
			}
			sums[name] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sums
}
