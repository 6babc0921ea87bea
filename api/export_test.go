package api

import "strings"

// Routes lists what the router serves, as "METHOD /path".
func Routes(s *Server) []string {
	var out []string
	for _, r := range s.echo.Routes() {
		if !strings.HasPrefix(r.Method, "echo_") {
			out = append(out, r.Method+" "+r.Path)
		}
	}
	return out
}
