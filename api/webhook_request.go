package api

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"telefuser/jobs"
)

// webhookBody reads name, url and event_types, each of which may be absent.
func (s *Server) webhookBody(c echo.Context) (jobs.WebhookChange, error) {
	f, err := s.decodeBody(c, bodyRule{})
	if err != nil {
		return jobs.WebhookChange{}, err
	}
	defer f.close()
	var change jobs.WebhookChange
	if change.Name, err = takeWebhookName(f); err != nil {
		return change, err
	}
	if change.URL, err = takeText(f, "url"); err != nil {
		return change, err
	}
	if len(change.URL) > webhookURLBytesMax {
		return change, badRequest("url", codeTooLong, "url must have at most 2048 characters.")
	}
	if change.EventTypes, err = takeEventTypes(f); err != nil {
		return change, err
	}
	return change, refuseRest(f)
}

func takeWebhookName(f *fields) (string, error) {
	name, err := takeText(f, "name")
	if err != nil || name == "" {
		return "", err
	}
	if strings.TrimSpace(name) == "" || utf8.RuneCountInString(name) > webhookNameRunesMax || strings.ContainsFunc(name, isControl) {
		return "", badRequest("name", codeInvalidValue, "name must be text of 1 to 256 characters in one line that is not blank.")
	}
	return name, nil
}

// takeEventTypes takes a list of events that happen here; others exist at OpenAI, but nobody would ever be told of them.
func takeEventTypes(f *fields) ([]string, error) {
	value, given := f.take("event_types")
	if !given {
		return nil, nil // absent is an ordinary update
	}
	list, isList := value.([]any)
	if text, isText := value.(string); isText && f.form {
		list, isList = []any{text}, true
	}
	if !isList {
		return nil, badRequest("event_types", codeInvalidType, "Invalid type for 'event_types': expected a list of strings, but got "+kind(value)+" instead.")
	}
	known := jobs.WebhookEventTypes()
	var out []string
	for _, item := range list {
		text, isText := item.(string)
		if !isText || !slices.Contains(known, text) {
			return nil, badRequest("event_types", codeInvalidValue, "event_types must have one or more of "+strings.Join(known, ", ")+".")
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return nil, badRequest("event_types", codeInvalidValue, "event_types must have one or more of "+strings.Join(known, ", ")+".")
	}
	return out, nil
}

// rotateBody reads whether the old secret goes on for a day. A request without a body means no.
func (s *Server) rotateBody(c echo.Context) (keepOld bool, err error) {
	if c.Request().Body == http.NoBody || c.Request().ContentLength == 0 {
		return false, nil
	}
	f, err := s.decodeBody(c, bodyRule{})
	if err != nil {
		return false, err
	}
	defer f.close()
	const name = "keep_old_secret_active_for_24_hours"
	value, given := f.take(name)
	text, isText := value.(string)
	switch {
	case !given:
	case value == true, isText && f.form && text == "true":
		keepOld = true
	case value == false, isText && f.form && text == "false":
	default:
		return false, badRequest(name, codeInvalidType, "Invalid type for '"+name+"': expected a boolean, but got "+kind(value)+" instead.")
	}
	return keepOld, refuseRest(f)
}

// testBody reads which event is sent.
func (s *Server) testBody(c echo.Context) (string, error) {
	f, err := s.decodeBody(c, bodyRule{})
	if err != nil {
		return "", err
	}
	defer f.close()
	kind, err := takeText(f, "event_type")
	switch known := jobs.WebhookEventTypes(); {
	case err != nil:
		return "", err
	case kind == "":
		return "", badRequest("event_type", codeMissingParameter, "Missing required parameter: \"event_type\".")
	case !slices.Contains(known, kind):
		return "", badRequest("event_type", codeInvalidValue, "event_type must be one of "+strings.Join(known, ", ")+".")
	}
	return kind, refuseRest(f)
}
