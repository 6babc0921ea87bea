package api

import (
	_ "embed"
	"net/http"

	"github.com/labstack/echo/v4"

	"telefuser/openapi"
)

// docsPage is the page of /docs; it draws /openapi.json and asks no other host for anything.
//
//go:embed docs.html
var docsPage string

// docsPolicy lets the page run its own script and talk to this server, and nothing more.
const docsPolicy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// getDocs answers GET /docs.
func (s *Server) getDocs(c echo.Context) error {
	c.Response().Header().Set("Content-Security-Policy", docsPolicy)
	c.Response().Header().Set("Referrer-Policy", "no-referrer")
	return c.HTML(http.StatusOK, docsPage)
}

// getSpecYAML answers GET /openapi.yaml.
func (s *Server) getSpecYAML(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", []byte(openapi.YAML()))
}

// getSpecJSON answers GET /openapi.json.
func (s *Server) getSpecJSON(c echo.Context) error {
	return c.JSONBlob(http.StatusOK, s.spec)
}
