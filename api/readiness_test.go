package api_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// TestStartIsNoWarning: a program that still loads is not ready without alarm; one that was ready and is not any more raises it.
func TestStartIsNoWarning(t *testing.T) {
	var loaded atomic.Bool
	s := newStack(t, func(in *setup) {
		in.deps.Ready = func(context.Context) error {
			if !loaded.Load() {
				return errors.New("loading")
			}
			return nil
		}
	})
	status := func() int { return s.request(t, "GET", "/v1/service/ready", nil).status }
	if status() != 503 || strings.Contains(s.logs.String(), "WARN") || !strings.Contains(s.logs.String(), "not ready") {
		t.Errorf("while it loads: %s", s.logs)
	}
	loaded.Store(true)
	eventually(t, "it is ready", func() bool { return status() == 200 })
	loaded.Store(false)
	eventually(t, "it is not ready", func() bool { return status() == 503 })
	if !strings.Contains(s.logs.String(), `"level":"WARN","msg":"not ready"`) {
		t.Errorf("after it was ready: %s", s.logs)
	}
}
