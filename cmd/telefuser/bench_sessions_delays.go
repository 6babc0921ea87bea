package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"telefuser/internal/bench"
	"telefuser/internal/bench/viewer"
	"telefuser/openapi"
)

// sampleTimeout bounds one sample.
const sampleTimeout = 20 * time.Second

// step is one named moment of a sample, counted from when it was meant to begin.
type step struct {
	name string
	at   time.Time
}

// delayResult is how long something took, over all samples.
type delayResult struct {
	Machine bench.Machine   `json:"machine"`
	Samples int             `json:"samples"`
	Failed  int             `json:"failed"`
	MS      bench.Quantiles `json:"ms"`
	// Steps are the way there, each counted from the beginning too.
	Steps []namedQuantiles `json:"steps"`
	// Errors are the texts of those that failed.
	Errors []string `json:"errors,omitempty"`
	// ChunkMS is the length of the chunks that controls waited for; Superseded counts controls that a later one replaced.
	ChunkMS    *float64 `json:"chunk_ms,omitempty"`
	Superseded int      `json:"superseded,omitempty"`
}

// namedQuantiles are those of one step.
type namedQuantiles struct {
	Name string          `json:"name"`
	MS   bench.Quantiles `json:"ms"`
}

// String is for people.
func (r *delayResult) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "  %d samples, %d failed, load average %s\n", r.Samples, r.Failed, r.Machine.LoadAverage())
	for _, s := range r.Steps {
		fmt.Fprintf(&text, "  %-18s %s\n", s.Name, quantileCells(s.MS))
	}
	if r.ChunkMS != nil {
		fmt.Fprintf(&text, "  one chunk is %.1f ms; %d controls were superseded\n", *r.ChunkMS, r.Superseded)
	}
	for _, e := range r.Errors {
		fmt.Fprintf(&text, "  failed: %s\n", e)
	}
	return text.String()
}

// quantileCells writes what sessions have bars for.
func quantileCells(q bench.Quantiles) string {
	cell := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf("%.1f", *v)
	}
	return fmt.Sprintf("p50 %s, p95 %s, p99 %s, max %s ms", cell(q.P50), cell(q.P95), cell(q.P99), cell(q.Max))
}

// moments are when samples are meant to begin: evenly spread, each moved by up to a third of the pause.
func (b *benchSessions) moments(begin time.Time) []time.Time {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a schedule, the same in every run
	out := make([]time.Time, b.samples)
	for i := range out {
		out[i] = begin.Add(time.Duration(i)*b.every + time.Duration(random.Int64N(int64(b.every)*2/3)))
	}
	return out
}

// openLoop begins every sample at its moment, whatever became of those before, and waits for all.
func (b *benchSessions) openLoop(ctx context.Context, sample func(ctx context.Context, i int) ([]step, error)) (*delayResult, error) {
	r := &delayResult{Machine: bench.ReadMachine()}
	steps := map[string][]time.Duration{}
	var names []string
	var mu sync.Mutex
	var group sync.WaitGroup
	defer group.Wait()
	for i, due := range b.moments(time.Now().Add(b.every)) {
		if err := pause(ctx, time.Until(due)); err != nil {
			return nil, err
		}
		group.Go(func() {
			timed, cancel := context.WithTimeout(ctx, sampleTimeout)
			defer cancel()
			way, err := sample(timed, i)
			mu.Lock()
			defer mu.Unlock()
			r.Samples++
			if err != nil {
				r.Failed++
				r.Errors = append(r.Errors, err.Error())
				return
			}
			for _, s := range way {
				if !slices.Contains(names, s.name) {
					names = append(names, s.name)
				}
				steps[s.name] = append(steps[s.name], s.at.Sub(due))
			}
		})
	}
	group.Wait()
	for _, name := range names {
		r.Steps = append(r.Steps, namedQuantiles{Name: name, MS: bench.NewQuantiles(steps[name], r.Failed)})
	}
	if n := len(r.Steps); n > 0 {
		r.MS = r.Steps[n-1].MS
	}
	return r, ctx.Err()
}

// watched joins with a token and answers when the first frame was there and when it was decoded.
func watched(ctx context.Context, url, token string) (way []step, err error) {
	type seen struct {
		arrived, decoded time.Time
		err              error
	}
	first := make(chan seen, 1) // the first alone is taken
	v, err := viewer.Join(ctx, url, token, viewer.Options{OnFrame: func(f viewer.Frame) {
		if len(first) > 0 {
			return
		}
		_, err := viewer.Decode(f)
		select {
		case first <- seen{f.At, time.Now(), err}:
		default:
		}
	}})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	joined := time.Now()
	select {
	case s := <-first:
		return []step{{"viewer joined", joined}, {"frame arrived", s.arrived}, {"frame decoded", s.decoded}}, s.err
	case <-v.Gone():
		return nil, viewer.ErrGone
	case <-ctx.Done():
		return nil, fmt.Errorf("no frame: %w", context.Cause(ctx))
	}
}

// warm runs one session to its first frame, so that what follows meets a warm worker.
func (b *benchSessions) warm(ctx context.Context, s *liveStack) error {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	_, err := b.startOne(ctx, s, 0)
	return err
}

// starts measures sessions from their request on.
func (b *benchSessions) starts(ctx context.Context, s *liveStack) (*delayResult, error) {
	return b.openLoop(ctx, func(ctx context.Context, i int) ([]step, error) { return b.startOne(ctx, s, i) })
}

func (b *benchSessions) startOne(ctx context.Context, s *liveStack, i int) ([]step, error) {
	ticket, err := b.create(ctx, s, i)
	if err != nil {
		return nil, err
	}
	defer s.end(ctx, ticket.SessionID)
	answered := time.Now()
	way, err := watched(ctx, ticket.LivekitURL, ticket.Token)
	return append([]step{{"request answered", answered}}, way...), err
}

// lateViewers measures viewers of a session that runs, from their request for a token on.
func (b *benchSessions) lateViewers(ctx context.Context, s *liveStack) (*delayResult, error) {
	p, err := b.fly(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	defer p.land(ctx)
	return b.openLoop(ctx, func(ctx context.Context, i int) ([]step, error) {
		var token openapi.SessionToken
		body := strings.NewReader(fmt.Sprintf(`{"identity":"guest-%d","role":"viewer"}`, i))
		if err := callJSON(ctx, s.target, http.MethodPost, "/v1/stream/sessions/"+p.ticket.SessionID+"/tokens", body, &token); err != nil {
			return nil, err
		}
		answered := time.Now()
		way, err := watched(ctx, token.LivekitURL, token.Token)
		return append([]step{{"request answered", answered}}, way...), err
	})
}
