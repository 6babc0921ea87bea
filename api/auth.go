package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// caller is who makes a request.
type caller struct {
	tenant string
	// keyID names the API key in the log and to the rate limit; it is not its secret.
	keyID string
}

// callerKey is where the caller lies in an echo context.
const callerKey = "caller"

func callerOf(c echo.Context) caller {
	who, _ := c.Get(callerKey).(caller)
	return who
}

// authenticate wants a live API key before the handler runs.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		who := caller{tenant: LocalTenant, keyID: LocalTenant}
		if s.cfg.Auth == AuthKeys {
			var err error
			if who, err = s.identify(c.Request().Context(), c.Request().Header["Authorization"]); err != nil {
				c.Response().Header().Set("WWW-Authenticate", "Bearer")
				return err
			}
		}
		c.Set(callerKey, who)
		return next(c)
	}
}

// identify reads the one Authorization header. The scheme's case is free, as RFC 9110 says; every other odd form is refused.
func (s *Server) identify(ctx context.Context, headers []string) (caller, error) {
	if len(headers) != 1 {
		return caller{}, unauthorized()
	}
	secret, ok := bearer(headers[0])
	if !ok {
		return caller{}, unauthorized()
	}
	tenant, keyID, err := s.deps.Jobs.Authenticate(ctx, secret)
	return caller{tenant: tenant, keyID: keyID}, err
}

// bearer takes the token out of a header of the form "Bearer <token>", with exactly one space and the letters of RFC 6750.
func bearer(header string) (string, bool) {
	scheme, token, found := strings.Cut(header, " ")
	if !found || len(header) > authorizationBytesMax || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", false
	}
	for i := range len(token) {
		b := token[i]
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
		if !letter && strings.IndexByte("-._~+/=", b) < 0 {
			return "", false
		}
	}
	return token, true
}

// unauthorized is the one answer to every missing, odd, unknown and revoked key.
func unauthorized() *problem {
	return &problem{status: http.StatusUnauthorized, typ: typeInvalidRequest, code: codeInvalidAPIKey,
		message: "The Authorization header must be \"Bearer\" and a live API key of this server."}
}
