package kernels

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"telefuser/workers/gpu"
)

// BenchOptions say what to measure.
type BenchOptions struct {
	// Sustain is how long each load runs to reach the power cap; the figure is the mean of the
	// second half. Zero: bursts only.
	Sustain time.Duration
	// Only names the groups to measure: copy, graph, rows, gemm, attention (or attention_bf16,
	// attention_e4m3), conv, layer. Nil: all.
	Only []string
	// Read takes a reading of the GPU's clocks and power; nil: not known.
	Read func() *gpu.Telemetry
	// Report is called with each row as it is measured; may be nil.
	Report func(BenchRow)
}

// BenchRow is one measured figure.
type BenchRow struct {
	Name  string        `json:"name"`
	Shape string        `json:"shape"`
	By    string        `json:"by"`   // implementation
	Kind  string        `json:"kind"` // "burst", "graph" (as a part of one) or "sustained"
	Time  time.Duration `json:"time_ns"`
	// One of these is set.
	TFLOPs *float64 `json:"tflop_per_s"`
	GBps   *float64 `json:"gb_per_s"`
	// Error against float64 on sampled elements, where it was checked.
	Error *float64 `json:"relative_error"`
	// State of the GPU, where known: right after a burst, in the mean of a sustained load.
	SMClockMHz *uint32  `json:"sm_clock_mhz"`
	PowerWatts *float64 `json:"power_watts"`
}

// String writes the row for people.
func (r BenchRow) String() string {
	s := fmt.Sprintf("%-28s %-26s %-12s %-9s %9.4f ms", r.Name, r.Shape, r.By, r.Kind, float64(r.Time.Nanoseconds())/1e6)
	if r.TFLOPs != nil {
		s += fmt.Sprintf("  %7.1f TFLOP/s", *r.TFLOPs)
	}
	if r.GBps != nil {
		s += fmt.Sprintf("  %7.0f GB/s", *r.GBps)
	}
	if r.Error != nil {
		s += fmt.Sprintf("  error %.2g", *r.Error)
	}
	if r.SMClockMHz != nil && r.PowerWatts != nil {
		s += fmt.Sprintf("  %d MHz %.0f W", *r.SMClockMHz, *r.PowerWatts)
	}
	return s
}

// bench is one run of measurements.
type bench struct {
	ctx   context.Context //nolint:containedctx // the value lives for one call of Bench
	c     *CUDA
	o     BenchOptions
	rows  []BenchRow
	seed  uint64
	tuned map[string][]Timing // by the product's key
}

// Bench measures the kernels at a world model's true shapes. It takes several GiB of the
// GPU's memory and gives it back.
func Bench(ctx context.Context, c *CUDA, o BenchOptions) ([]BenchRow, error) {
	b := &bench{ctx: ctx, c: c, o: o}
	groups := []struct {
		name string
		run  func() error
	}{{"copy", b.copies}, {"graph", b.graph}, {"rows", b.rowKernels}, {"gemm", b.gemms}, {"attention_bf16", func() error { return b.attentions(BF16) }}, {"attention_e4m3", func() error { return b.attentions(E4M3) }}, {"conv", b.convs}, {"layer", b.layers}}
	for _, g := range groups {
		kind, _, _ := strings.Cut(g.name, "_")
		if o.Only != nil && !slices.Contains(o.Only, g.name) && !slices.Contains(o.Only, kind) {
			continue
		}
		mark := c.Mark()
		if err := errors.Join(g.run(), c.Release(mark)); err != nil {
			return b.rows, fmt.Errorf("kernels: bench %s: %w", g.name, err)
		}
	}
	return b.rows, nil
}

// load is work whose rate is measured.
type load struct {
	name, shape, by string
	flop, bytes     float64
	run             func() error
	check           func() (float64, error)
}

// burst measures the median of five short runs; sustained the mean at the power cap.
func (b *bench) burst(l load) error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	once, err := b.c.Time(2, 3, l.run)
	if err != nil {
		return err
	}
	const target = 10 * time.Millisecond
	repeats := int(min(max(target/max(once, 1), 3), 50))
	var times []time.Duration
	for range 5 {
		t, err := b.c.Time(0, repeats, l.run)
		if err != nil {
			return err
		}
		times = append(times, t)
	}
	return b.add(l, "burst", median(times))
}

// sustained takes its readings of clocks and power while the load runs.
func (b *bench) sustained(l load) error {
	if b.o.Sustain == 0 {
		return nil
	}
	if err := b.ctx.Err(); err != nil {
		return err
	}
	var during []*gpu.Telemetry
	t, err := b.c.Hold(l.run, b.o.Sustain, func() {
		if b.o.Read != nil {
			if s := b.o.Read(); s != nil {
				during = append(during, s)
			}
		}
	})
	if err != nil {
		return err
	}
	l.check = nil
	return b.addRead(l, "sustained", t, during)
}

func (b *bench) add(l load, kind string, t time.Duration) error {
	var after []*gpu.Telemetry
	if b.o.Read != nil {
		if s := b.o.Read(); s != nil {
			after = append(after, s)
		}
	}
	return b.addRead(l, kind, t, after)
}

// addRead adds a row with the means of some readings.
func (b *bench) addRead(l load, kind string, t time.Duration, reads []*gpu.Telemetry) error {
	r := BenchRow{Name: l.name, Shape: l.shape, By: l.by, Kind: kind, Time: t}
	if l.flop > 0 {
		v := l.flop / t.Seconds() / 1e12
		r.TFLOPs = &v
	}
	if l.bytes > 0 {
		v := l.bytes / t.Seconds() / 1e9
		r.GBps = &v
	}
	r.SMClockMHz, r.PowerWatts = meanReading(reads)
	if l.check != nil {
		e, err := l.check()
		if err != nil {
			return err
		}
		r.Error = &e
	}
	b.rows = append(b.rows, r)
	if b.o.Report != nil {
		b.o.Report(r)
	}
	return nil
}

// meanReading is the mean clock and power of readings that know them.
func meanReading(reads []*gpu.Telemetry) (*uint32, *float64) {
	var clock, watts float64
	clocks, powers := 0, 0
	for _, s := range reads {
		if s.SMClockMHz != nil {
			clock += float64(*s.SMClockMHz)
			clocks++
		}
		if s.PowerWatts != nil {
			watts += *s.PowerWatts
			powers++
		}
	}
	if clocks == 0 || powers == 0 {
		return nil, nil
	}
	mhz, w := uint32(clock/float64(clocks)), watts/float64(powers)
	return &mhz, &w
}

func median(t []time.Duration) time.Duration {
	for i := range t {
		for j := i; j > 0 && t[j] < t[j-1]; j-- {
			t[j], t[j-1] = t[j-1], t[j]
		}
	}
	return t[len(t)/2]
}

// normal makes a tensor of normally distributed numbers; e4m3 ones are rounded from bf16,
// without a scale.
func (b *bench) normal(d DType, sigma float32, shape ...int) (Tensor, error) {
	b.seed++
	x, err := b.c.New(d, shape...)
	if err != nil {
		return x, err
	}
	if d != E4M3 {
		return x, b.c.Run(Noise{Y: x, Seed: b.seed, Sigma: sigma})
	}
	const block = 8192 // elements a row of the quantiser
	mark := b.c.Mark()
	n := x.Len()
	rows := (n + block - 1) / block
	y, err := b.c.New(BF16, rows, block)
	if err != nil {
		return x, err
	}
	q, err := b.c.New(E4M3, rows, block)
	if err != nil {
		return x, err
	}
	scale, err := b.c.New(F32, rows)
	if err != nil {
		return x, err
	}
	err = errors.Join(b.c.Run(Noise{Y: y, Seed: b.seed, Sigma: 1}), b.c.Run(Quantise{X: y, Y: q, Scale: scale}),
		b.c.stream.Copy(x.Dev, q.Dev, int64(n)))
	return x, errors.Join(err, b.c.Release(mark))
}

// ones makes n scales of a value.
func (b *bench) ones(n int, v float32) (Tensor, error) {
	h := Layout(F32, n)
	h.Host = make([]byte, h.Span())
	for i := range n {
		h.Set(i, float64(v))
	}
	x, err := b.c.New(F32, n)
	if err != nil {
		return x, err
	}
	return x, b.c.Write(x, h.Host)
}

// fetch copies a part of a tensor to the host as a reference tensor.
func (b *bench) fetch(t Tensor) (Tensor, error) {
	t.Host = make([]byte, t.Span())
	return t, b.c.Read(t.Host, t)
}

func (b *bench) copies() error {
	const bytes = 2 << 30
	x, err := b.normal(F32, 1, bytes/4)
	if err != nil {
		return err
	}
	y, err := b.c.New(F32, bytes/4)
	if err != nil {
		return err
	}
	l := load{name: "copy", shape: "2 GiB", by: "driver", bytes: 2 * bytes, run: func() error { return b.c.stream.Copy(y.Dev, x.Dev, bytes) }}
	return errors.Join(b.burst(l), b.sustained(l))
}

// relative is the norm of differences over the norm of wanted values.
type relative struct{ num, den float64 }

func (r *relative) add(got, want float64) {
	r.num += (got - want) * (got - want)
	r.den += want * want
	if math.IsNaN(got) {
		r.num = math.Inf(1)
	}
}

func (r *relative) value() float64 { return math.Sqrt(r.num / r.den) }
