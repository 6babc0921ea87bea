package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"telefuser/internal/bench"
	"telefuser/internal/bench/viewer"
	"telefuser/openapi"
)

// steadyResult is some sessions over a while.
type steadyResult struct {
	Machine  bench.Machine   `json:"machine"`
	Seconds  float64         `json:"seconds"`
	Sessions []steadySession `json:"sessions"`
	// JitterMS is that of the frames of all sessions.
	JitterMS  bench.Quantiles       `json:"jitter_ms"`
	Processes []bench.ProcessResult `json:"processes"`
	// CPUMS are the milliseconds of CPU that a frame cost each process.
	CPUMS map[string]float64 `json:"cpu_ms_per_frame"`
	// Overhead is what the service costs beside rendering and encoding; nil where that is not known.
	Overhead *overheadResult `json:"overhead,omitempty"`
}

// steadySession is one of them.
type steadySession struct {
	viewer.Steadiness
	World string `json:"world"`
	// Dropped are frames that were made and not sent, since the session began; EncodeMS is the encoder's time for a frame, StageMS that of the stages.
	Dropped  int64              `json:"dropped"`
	EncodeMS *float64           `json:"encode_ms_per_frame"`
	StageMS  map[string]float64 `json:"stage_ms_per_frame"`
}

// String is for people.
func (r *steadyResult) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "  %.0f s, load average %s\n", r.Seconds, r.Machine.LoadAverage())
	frames := 0
	for _, s := range r.Sessions {
		frames += s.Frames
		encode := "-"
		if s.EncodeMS != nil {
			encode = fmt.Sprintf("%.2f", *s.EncodeMS)
		}
		fmt.Fprintf(&text, "  %-40s %.3f FPS, %d frames, %d missing, %d dropped, %d freezes, longest gap %.0f ms; ms a frame: encode %s", s.World, s.FPS, s.Frames, s.Missing,
			s.Dropped, s.Freezes, float64(s.GapMax)/1e6, encode)
		for _, stage := range []string{"encode", "generate", "decode"} {
			fmt.Fprintf(&text, ", %s stage %.2f", stage, s.StageMS[stage])
		}
		text.WriteString("\n")
	}
	fmt.Fprintf(&text, "  jitter of arrival  %s\n", quantileCells(r.JitterMS))
	total := 0.0
	for _, p := range r.Processes {
		total += p.CPUSeconds
		fmt.Fprintf(&text, "  %-8s %6.2f s CPU, %5.1f %% of a core, %.2f ms a frame, %d MiB\n", p.Name, p.CPUSeconds, 100*p.CPUSeconds/r.Seconds, r.CPUMS[p.Name], p.RSSBytesMax>>20)
	}
	fmt.Fprintf(&text, "  together %6.2f s CPU, %5.1f %% of %d cores\n", total, 100*total/r.Seconds/float64(r.Machine.Cores), r.Machine.Cores)
	text.WriteString(r.Overhead.String())
	return text.String()
}

// steady flies n sessions and watches what arrives.
func (b *benchSessions) steady(ctx context.Context, s *liveStack, n int) (*steadyResult, error) {
	r := &steadyResult{Machine: bench.ReadMachine(), CPUMS: map[string]float64{}}
	flying, land := context.WithCancel(ctx)
	var crew sync.WaitGroup
	defer crew.Wait()
	defer land()
	var pilots []*pilot
	for i := range n {
		p, err := b.fly(ctx, s, i)
		if err != nil {
			return nil, err
		}
		defer p.land(ctx)
		crew.Go(func() { p.wander(flying, i) })
		pilots = append(pilots, p)
	}
	if err := pause(ctx, b.warmup); err != nil {
		return nil, err
	}
	var begin, end time.Time
	before, err := s.counters(ctx) // asked before and after the processes are looked at, so that the answers are not in the figure
	if err != nil {
		return nil, err
	}
	r.Processes, err = bench.Watch(ctx, s.processes(), func(ctx context.Context) error {
		begin = time.Now()
		err := pause(ctx, b.duration)
		end = time.Now()
		return err
	})
	if err != nil {
		return nil, err
	}
	after, err := s.counters(ctx)
	if err != nil {
		return nil, err
	}
	r.Overhead = newOverhead(before, after, r.Processes)
	r.Seconds = end.Sub(begin).Seconds()
	var jitter []time.Duration
	frames := 0
	for i, p := range pilots {
		one := steadySession{Steadiness: viewer.NewSteadiness(p.trace.Between(begin, end), b.period()), World: sessionWorlds()[i%len(sessionWorlds())]}
		if err := p.facts(ctx, &one); err != nil {
			return nil, err
		}
		jitter, frames = append(jitter, one.Jitter...), frames+one.Frames
		r.Sessions = append(r.Sessions, one)
	}
	r.JitterMS = bench.NewQuantiles(jitter, 0)
	for _, p := range r.Processes {
		r.CPUMS[p.Name] += p.CPUSeconds * 1000 / float64(max(frames, 1))
	}
	return r, nil
}

// facts are what the session's record and the worker's messages say.
func (p *pilot) facts(ctx context.Context, into *steadySession) error {
	var object openapi.Session
	if err := callJSON(ctx, p.stack.target, http.MethodGet, "/v1/stream/sessions/"+p.ticket.SessionID, http.NoBody, &object); err != nil {
		return err
	}
	into.Dropped = object.Facts.DroppedFrames
	if s := object.Facts.EncodeSeconds; s != nil && object.Facts.PublishedFrames > 0 {
		ms := *s * 1000 / float64(object.Facts.PublishedFrames)
		into.EncodeMS = &ms
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	into.StageMS = map[string]float64{}
	for name, took := range p.stages {
		into.StageMS[name] = float64(took) / float64(time.Millisecond) / float64(max(p.frames, 1))
	}
	return nil
}
