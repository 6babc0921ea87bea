package kernels

import (
	"errors"
	"slices"
	"time"

	"telefuser/workers/gpu"
)

// The graph whose replay is measured, and how often: passes of a chunk are queued one behind the other.
const (
	graphKernels = 500
	graphPasses  = 5
	graphChunks  = 400
)

// graph measures the host's cost of replaying 500 kernels: of passes that are queued without waiting, as those of a chunk, and of
// replays on an idle GPU.
func (b *bench) graph() error {
	x, err := b.normal(BF16, 1, 64, 512)
	if err != nil {
		return err
	}
	g, err := b.c.stream.Capture(func() error {
		for range graphKernels {
			if err := b.c.Run(Activation{X: x, Y: x, F: SiLU}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	device, err := b.c.Time(1, graphPasses, func() error { return g.Launch(b.c.stream) })
	if err != nil {
		return err
	}
	queued, err := b.replays(g, graphPasses)
	if err != nil {
		return err
	}
	alone, err := b.replays(g, 1)
	if err != nil {
		return err
	}
	return errors.Join(
		b.add(load{name: "graph of 500, host, median", shape: "five in a row"}, "burst", quantile(queued, 50)),
		b.add(load{name: "graph of 500, host, p99", shape: "five in a row"}, "burst", quantile(queued, 99)),
		b.add(load{name: "graph of 500, host, median", shape: "on an idle GPU"}, "burst", quantile(alone, 50)),
		b.add(load{name: "graph of 500, host, p99", shape: "on an idle GPU"}, "burst", quantile(alone, 99)),
		b.add(load{name: "graph of 500, device", shape: "replay"}, "burst", device), g.Close())
}

// replays gives the host's times of launching a graph, in rows of so many that are waited for.
func (b *bench) replays(g *gpu.Graph, inRow int) ([]time.Duration, error) {
	var all []time.Duration
	for range graphChunks {
		for range inRow {
			start := time.Now()
			if err := g.Launch(b.c.stream); err != nil {
				return nil, err
			}
			all = append(all, time.Since(start))
		}
		if err := b.c.stream.Synchronize(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// quantile is the value that so many of a hundred do not exceed; it sorts them.
func quantile(t []time.Duration, percent int) time.Duration {
	slices.Sort(t)
	return t[(len(t)-1)*percent/100]
}

// inGraph measures work as a part of a graph, the way passes run.
func (b *bench) inGraph(l load) error {
	const times, replays, runs = 30, 2, 5
	g, err := b.c.stream.Capture(func() error {
		for range times {
			if err := l.run(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var all []time.Duration
	for range runs {
		t, err := b.c.Time(1, replays, func() error { return g.Launch(b.c.stream) })
		if err != nil {
			return errors.Join(err, g.Close())
		}
		all = append(all, t/times)
	}
	return errors.Join(b.add(l, "graph", median(all)), g.Close())
}
