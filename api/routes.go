package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// newEcho lays out every route. Each of them stands in openapi.yaml, and a test compares the two.
func (s *Server) newEcho() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = echo.ExtractIPDirect()
	e.HTTPErrorHandler = func(err error, c echo.Context) { _ = toProblem(err).write(c) }
	e.Pre(s.frame, s.cors)
	s.videoRoutes(e)
	s.fileRoutes(e)
	s.webhookRoutes(e)
	s.streamRoutes(e)
	s.serviceRoutes(e)
	return e
}

// get adds a route that also answers HEAD, which is its GET without the body. Event streams do not: their answer has no end to wait for.
func get(e *echo.Echo, path string, handler echo.HandlerFunc, middleware ...echo.MiddlewareFunc) {
	e.GET(path, handler, middleware...)
	e.HEAD(path, handler, middleware...)
}

func (s *Server) videoRoutes(e *echo.Echo) {
	const videos = "/v1/videos"
	e.POST(videos, s.createVideo, s.authenticate)
	get(e, videos, s.listVideos, s.authenticate)
	get(e, videos+"/:video_id", s.getVideo, s.authenticate)
	e.DELETE(videos+"/:video_id", s.deleteVideo, s.authenticate)
	get(e, videos+"/:video_id/content", s.downloadVideo, s.authenticate)
	e.GET(videos+"/:video_id/events", s.streamEvents, s.authenticate)
	e.POST(videos+"/:video_id/remix", s.remixVideo, s.authenticate)
	e.POST(videos+"/edits", s.editVideo, s.authenticate)
	e.POST(videos+"/extensions", s.extendVideo, s.authenticate)
	e.POST(videos+"/characters", s.createCharacter, s.authenticate)
	get(e, videos+"/characters/:character_id", s.getCharacter, s.authenticate)
}

// fileRoutes name the middleware on each route: given to a group, it would turn a wrong method into a 404.
func (s *Server) fileRoutes(e *echo.Echo) {
	const files, batches, models = "/v1/files", "/v1/batches", "/v1/models"
	e.POST(files, s.createFile, s.authenticate)
	get(e, files, s.listFiles, s.authenticate)
	get(e, files+"/:file_id", s.getFile, s.authenticate)
	e.DELETE(files+"/:file_id", s.deleteFile, s.authenticate)
	get(e, files+"/:file_id/content", s.downloadFile, s.authenticate)
	e.POST(batches, s.createBatch, s.authenticate)
	get(e, batches, s.listBatches, s.authenticate)
	get(e, batches+"/:batch_id", s.getBatch, s.authenticate)
	e.POST(batches+"/:batch_id/cancel", s.cancelBatch, s.authenticate)
	get(e, models, s.listModels, s.authenticate)
	get(e, models+"/:model", s.getModel, s.authenticate)
}

func (s *Server) webhookRoutes(e *echo.Echo) {
	const hooks = "/v1/webhook_endpoints"
	e.POST(hooks, s.createWebhook, s.authenticate, s.webhooksGate)
	get(e, hooks, s.listWebhooks, s.authenticate, s.webhooksGate)
	get(e, hooks+"/:webhook_endpoint_id", s.getWebhook, s.authenticate, s.webhooksGate)
	e.POST(hooks+"/:webhook_endpoint_id", s.updateWebhook, s.authenticate, s.webhooksGate)
	e.DELETE(hooks+"/:webhook_endpoint_id", s.deleteWebhook, s.authenticate, s.webhooksGate)
	e.POST(hooks+"/:webhook_endpoint_id/rotate_secret", s.rotateWebhookSecret, s.authenticate, s.webhooksGate)
	e.POST(hooks+"/:webhook_endpoint_id/test", s.testWebhook, s.authenticate, s.webhooksGate)
	get(e, "/v1/webhook_event_types", s.listWebhookEventTypes, s.authenticate)
}

// webhooksGate answers for a server without webhooks.
func (s *Server) webhooksGate(next echo.HandlerFunc) echo.HandlerFunc {
	if s.deps.Webhooks != nil {
		return next
	}
	return func(echo.Context) error {
		return &problem{status: http.StatusServiceUnavailable, typ: typeServer, code: codeWebhooksOff, noRetry: true, message: "This server has no webhooks."}
	}
}

func (s *Server) streamRoutes(e *echo.Echo) {
	const sessions = "/v1/stream/sessions"
	e.POST(sessions, s.createSession, s.authenticate, s.streamGate)
	get(e, sessions, s.listSessions, s.authenticate, s.streamGate)
	get(e, sessions+"/:session_id", s.getSession, s.authenticate, s.streamGate)
	e.DELETE(sessions+"/:session_id", s.endSession, s.authenticate, s.streamGate)
	e.POST(sessions+"/:session_id/tokens", s.createSessionToken, s.authenticate, s.streamGate)
	get(e, "/v1/stream/health", s.getStreamHealth, s.streamGate)
}

// streamGate answers for a server without live sessions. It comes after the key, so that strangers learn nothing.
func (s *Server) streamGate(next echo.HandlerFunc) echo.HandlerFunc {
	if s.deps.Sessions != nil {
		return next
	}
	return func(echo.Context) error {
		return &problem{status: http.StatusServiceUnavailable, typ: typeServer, code: codeStreamingOff, noRetry: true,
			message: "This server has no live sessions: it was started without a LiveKit server."}
	}
}

func (s *Server) serviceRoutes(e *echo.Echo) {
	for _, path := range []string{"/v1/service/health", "/health"} {
		get(e, path, s.getHealth)
	}
	get(e, "/v1/service/ready", s.getReady)
	get(e, "/v1/service/status", s.getStatus, s.authenticate)
	get(e, "/v1/service/metadata", s.getMetadata, s.authenticate)
	get(e, "/v1/service/metrics/json", s.getMetricsJSON, s.metricsGate)
	for _, path := range []string{"/v1/service/metrics", "/metrics"} {
		get(e, path, echo.WrapHandler(metricsHandler(s.deps.Registry)), s.metricsGate)
	}
	get(e, "/openapi.yaml", s.getSpecYAML)
	get(e, "/openapi.json", s.getSpecJSON)
	get(e, "/docs", s.getDocs)
	get(e, "/", s.getConsole)
	get(e, "/console/:file", s.getConsoleFile)
}

// metricsGate wants a key for metrics unless they are public.
func (s *Server) metricsGate(next echo.HandlerFunc) echo.HandlerFunc {
	if s.cfg.MetricsPublic {
		return next
	}
	return s.authenticate(next)
}

// reservedID tells the literal siblings of {video_id}, which no video can have as its id.
func reservedID(id string) bool { return id == "edits" || id == "extensions" || id == "characters" }

// reservedMethod answers for GET and DELETE of those siblings, which know POST alone.
func reservedMethod(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderAllow, http.MethodOptions+", "+http.MethodPost)
	return methodNotAllowed()
}
