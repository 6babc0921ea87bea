package workers

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"telefuser/jobs"
)

// outage is a record store that fails, works once, fails again, and then ends the janitor.
type outage struct {
	rounds int
	end    context.CancelFunc
}

func (o *outage) NextGarbage(context.Context, int) ([]jobs.Garbage, error) { return nil, nil }

func (o *outage) GarbageDone(context.Context, ...jobs.Garbage) error { return nil }

func (o *outage) SweepExpired(context.Context, int) (int, error) {
	o.rounds++
	switch o.rounds {
	case 5:
		return 0, nil
	case 9:
		o.end()
	}
	return 0, errors.New("away")
}

// noObjects is a store with nothing in it.
type noObjects struct{}

func (noObjects) Delete(context.Context, string) error { return nil }

func (noObjects) Sweep(context.Context) (int, error) { return 0, nil }

func TestJanitorTellsOfAnOutageOnce(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	var logs bytes.Buffer
	j := &Janitor{cfg: JanitorConfig{Every: time.Millisecond, SweepEvery: time.Hour, Log: slog.New(slog.NewTextHandler(&logs, nil))}, jobs: &outage{end: end}, objects: noObjects{}}
	if err := j.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(logs.String(), "away"); n != 2 {
		t.Errorf("two outages make %d lines: %s", n, &logs)
	}
}
