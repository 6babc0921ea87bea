package api

import (
	"github.com/labstack/echo/v4"

	"telefuser/api/console"
)

// newConsole makes the page of /, which may talk to this server and, where there are live sessions, to the media server.
func newConsole(rooms Rooms) (*console.Console, error) {
	if rooms == nil {
		return console.New(func() string { return "" })
	}
	return console.New(rooms.URL)
}

// getConsole answers GET /.
func (s *Server) getConsole(c echo.Context) error {
	s.console.ServePage(c.Response(), c.Request())
	return nil
}

// getConsoleFile answers GET /console/{file}.
func (s *Server) getConsoleFile(c echo.Context) error {
	if !s.console.ServeAsset(c.Response(), c.Request(), c.Param("file")) {
		return echo.ErrNotFound
	}
	return nil
}
