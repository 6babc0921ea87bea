package api

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
	"telefuser/openapi"
)

// createWebhook answers POST /v1/webhook_endpoints. The secret is in the answer, and never again.
func (s *Server) createWebhook(c echo.Context) error {
	ctx, who := c.Request().Context(), callerOf(c)
	if err := s.limitRate(c, who); err != nil {
		return err
	}
	change, err := s.webhookBody(c)
	if err != nil {
		return err
	}
	for name, missing := range map[string]bool{"event_types": len(change.EventTypes) == 0, "name": change.Name == "", "url": change.URL == ""} {
		if missing {
			return badRequest(name, codeMissingParameter, "Missing required parameter: "+quoteName(name)+".")
		}
	}
	if err := s.deps.Webhooks.CheckURL(ctx, change.URL); err != nil {
		return err
	}
	hook, secret, err := s.deps.Jobs.CreateWebhook(ctx, who.tenant, change)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, webhookWithSecret(hook, secret))
}

// listWebhooks answers GET /v1/webhook_endpoints.
func (s *Server) listWebhooks(c echo.Context) error {
	q, err := pageQuery(c, webhooksLimitDefault, 1, webhooksLimitMax, jobs.ValidWebhookID)
	if err != nil {
		return err
	}
	page, more, err := s.deps.Jobs.ListWebhooks(c.Request().Context(), callerOf(c).tenant, q)
	if err != nil {
		return err
	}
	list := openapi.WebhookEndpointList{Object: openapi.WebhookEndpointListObjectList, Data: []openapi.WebhookEndpoint{}, HasMore: more}
	for _, hook := range page {
		list.Data = append(list.Data, webhookObject(hook))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return c.JSON(http.StatusOK, list)
}

// getWebhook answers GET /v1/webhook_endpoints/{webhook_endpoint_id}.
func (s *Server) getWebhook(c echo.Context) error {
	hook, err := s.deps.Jobs.GetWebhook(c.Request().Context(), callerOf(c).tenant, c.Param("webhook_endpoint_id"))
	if err != nil {
		return noWebhook(err)
	}
	return c.JSON(http.StatusOK, webhookObject(hook))
}

// updateWebhook answers POST /v1/webhook_endpoints/{webhook_endpoint_id}; it also enables an endpoint that its receiver disabled.
func (s *Server) updateWebhook(c echo.Context) error {
	ctx, who, id := c.Request().Context(), callerOf(c), c.Param("webhook_endpoint_id")
	if err := s.limitRate(c, who); err != nil {
		return err
	}
	if _, err := s.deps.Jobs.GetWebhook(ctx, who.tenant, id); err != nil {
		return noWebhook(err)
	}
	change, err := s.webhookBody(c)
	if err != nil {
		return err
	}
	if change.URL != "" {
		if err := s.deps.Webhooks.CheckURL(ctx, change.URL); err != nil {
			return err
		}
	}
	hook, err := s.deps.Jobs.UpdateWebhook(ctx, who.tenant, id, change)
	if err != nil {
		return noWebhook(err)
	}
	return c.JSON(http.StatusOK, webhookObject(hook))
}

// deleteWebhook answers DELETE /v1/webhook_endpoints/{webhook_endpoint_id}.
func (s *Server) deleteWebhook(c echo.Context) error {
	id := c.Param("webhook_endpoint_id")
	if err := s.deps.Jobs.DeleteWebhook(c.Request().Context(), callerOf(c).tenant, id); err != nil {
		return noWebhook(err)
	}
	return c.JSON(http.StatusOK, openapi.WebhookEndpointDeleted{ID: id, Object: openapi.WebhookEndpointDeletedObjectWebhookEndpointDeleted, Deleted: true})
}

// rotateWebhookSecret answers POST /v1/webhook_endpoints/{webhook_endpoint_id}/rotate_secret.
func (s *Server) rotateWebhookSecret(c echo.Context) error {
	keep, err := s.rotateBody(c)
	if err != nil {
		return err
	}
	hook, secret, err := s.deps.Jobs.RotateWebhookSecret(c.Request().Context(), callerOf(c).tenant, c.Param("webhook_endpoint_id"), keep)
	if err != nil {
		return noWebhook(err)
	}
	return c.JSON(http.StatusOK, webhookWithSecret(hook, secret))
}

// testWebhook answers POST /v1/webhook_endpoints/{webhook_endpoint_id}/test, once the receiver has answered.
func (s *Server) testWebhook(c echo.Context) error {
	ctx, who, id := c.Request().Context(), callerOf(c), c.Param("webhook_endpoint_id")
	if err := s.limitRate(c, who); err != nil {
		return err
	}
	if _, err := s.deps.Jobs.GetWebhook(ctx, who.tenant, id); err != nil {
		return noWebhook(err)
	}
	kind, err := s.testBody(c)
	if err != nil {
		return err
	}
	status, err := s.deps.Webhooks.Test(ctx, who.tenant, id, kind)
	if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrAddress) {
		return &problem{status: http.StatusBadRequest, typ: typeInvalidRequest, code: codeWebhookUnreachable, param: "webhook_endpoint_id",
			message: "The endpoint did not answer.", cause: err}
	}
	if err != nil {
		return noWebhook(err)
	}
	return c.JSON(http.StatusOK, openapi.WebhookEndpointTest{Object: openapi.WebhookEndpointTestObjectWebhookEndpointTest, Success: true, StatusCode: status, EventType: kind,
		WebhookEndpointID: id})
}

// listWebhookEventTypes answers GET /v1/webhook_event_types.
func (s *Server) listWebhookEventTypes(c echo.Context) error {
	return c.JSON(http.StatusOK, openapi.WebhookEventTypeList{Object: openapi.WebhookEventTypeListObjectList, Data: jobs.WebhookEventTypes()})
}

func noWebhook(err error) error {
	if errors.Is(err, jobs.ErrNotFound) {
		return notFound("webhook_endpoint_id", "webhook endpoint")
	}
	return err
}

func webhookObject(w jobs.Webhook) openapi.WebhookEndpoint {
	out := openapi.WebhookEndpoint{ID: w.ID, Object: openapi.WebhookEndpointObjectWebhookEndpoint, CreatedAt: w.CreatedAt.Unix(), UpdatedAt: w.UpdatedAt.Unix(),
		Name: w.Name, URL: w.URL, EventTypes: w.EventTypes, SigningSecretHint: &w.Hint}
	if !w.DisabledAt.IsZero() {
		at := w.DisabledAt.Unix()
		out.DisabledAt = &at
	}
	return out
}

func webhookWithSecret(w jobs.Webhook, secret jobs.Secret) openapi.WebhookEndpointWithSecret {
	o := webhookObject(w)
	return openapi.WebhookEndpointWithSecret{ID: o.ID, Object: openapi.WebhookEndpointWithSecretObjectWebhookEndpoint, CreatedAt: o.CreatedAt, UpdatedAt: o.UpdatedAt, Name: o.Name,
		URL: o.URL, EventTypes: o.EventTypes, SigningSecretHint: o.SigningSecretHint, DisabledAt: o.DisabledAt, SigningSecret: secret.Reveal()}
}
