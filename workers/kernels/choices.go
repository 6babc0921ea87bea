package kernels

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"telefuser/workers/gpu"
)

// Choices remembers, per shape, which of several implementations was fastest. It may be
// shared by the backends of equal GPUs.
type Choices struct {
	mu   sync.Mutex
	best map[string]string
}

// NewChoices starts with nothing remembered.
func NewChoices() *Choices { return &Choices{best: map[string]string{}} }

// LoadChoices reads what Save wrote. A file that is missing or broken means that nothing is
// remembered: everything in it can be measured again.
func LoadChoices(path string) *Choices {
	c := NewChoices()
	b, err := os.ReadFile(path)
	if err != nil {
		return c
	}
	if json.Unmarshal(b, &c.best) != nil || c.best == nil {
		c.best = map[string]string{}
	}
	return c
}

// Save writes the choices to a file, whole or not at all.
func (c *Choices) Save(path string) error {
	c.mu.Lock()
	b, err := json.MarshalIndent(c.best, "", "  ")
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("kernels: save choices: %w", err)
	}
	const readable = 0o644
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b, readable); err != nil {
		return fmt.Errorf("kernels: save choices: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("kernels: save choices: %w", err)
	}
	return nil
}

// Best is the choice for a shape, or "".
func (c *Choices) Best(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.best[key]
}

// Set remembers a choice.
func (c *Choices) Set(key, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.best[key] = name
}

// candidate is one implementation of an operation.
type candidate struct {
	name string
	run  func() error
}

// choose queues the forced or remembered implementation, or else the first. Tune measures.
func (c *CUDA) choose(key string, all []candidate) error {
	best := c.force
	if best == "" {
		best = c.choices.Best(key)
	}
	i := slices.IndexFunc(all, func(k candidate) bool { return k.name == best })
	if i >= 0 {
		return all[i].run()
	}
	return all[0].run()
}

// Timing is one implementation's measured time.
type Timing struct {
	Name string
	Time time.Duration
}

// Choosable is an operation with several implementations.
type Choosable interface {
	Op
	key() string
	candidates(c *CUDA) []candidate
}

// Tune times every implementation of an operation on its own tensors, remembers the fastest
// for the shape and returns all, fastest first. The output is written over; an in-place
// residual adds up, so its values are lost.
func (c *CUDA) Tune(o Choosable) ([]Timing, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if !c.hopper() {
		return nil, nil
	}
	// In rounds over all of them, since the clock falls while the GPU warms up.
	const rounds, warm, repeats = 5, 1, 5
	candidates := o.candidates(c)
	times := make([][]time.Duration, len(candidates))
	for range rounds {
		for i, k := range candidates {
			t, err := c.Time(warm, repeats, k.run)
			if errors.Is(err, ErrUnsupported) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("kernels: tune %s: %w", k.name, err)
			}
			times[i] = append(times[i], t)
		}
	}
	var all []Timing
	for i, k := range candidates {
		if len(times[i]) > 0 {
			all = append(all, Timing{k.name, median(times[i])})
		}
	}
	slices.SortFunc(all, func(a, b Timing) int { return int(a.Time - b.Time) })
	if len(all) > 0 {
		c.choices.Set(o.key(), all[0].Name)
	}
	return all, nil
}

// TuneHeld is Tune for work that runs long enough to reach the power cap, where another
// implementation may be the fastest: those that are not slower by more than an eighth are run for
// a while each, and the second half of that counts.
func (c *CUDA) TuneHeld(o Choosable, hold time.Duration) ([]Timing, error) {
	all, err := c.Tune(o)
	if err != nil || len(all) == 0 {
		return all, err
	}
	limit := all[0].Time + all[0].Time/8
	for i := range all {
		if all[i].Time > limit {
			break
		}
		run := func() error { return named(o.candidates(c), all[i].Name) }
		if all[i].Time, err = c.Hold(run, hold, nil); err != nil {
			return nil, fmt.Errorf("kernels: tune %s: %w", all[i].Name, err)
		}
	}
	slices.SortStableFunc(all, func(a, b Timing) int { return int(a.Time - b.Time) })
	c.choices.Set(o.key(), all[0].Name)
	return all, nil
}

// named runs one of several implementations.
func named(all []candidate, name string) error {
	for _, k := range all {
		if k.name == name {
			return k.run()
		}
	}
	return fmt.Errorf("%w: %s", ErrUnsupported, name)
}

// Hold runs work back to back for a while and gives the mean device time of one run in the second
// half. read, if not nil, is called in that half while work is queued.
func (c *CUDA) Hold(work func() error, hold time.Duration, read func()) (time.Duration, error) {
	const batch = 40 * time.Millisecond
	once, err := c.Time(1, 2, work)
	if err != nil {
		return 0, err
	}
	repeats := int(max(batch/max(once, 1), 2))
	var sum time.Duration
	n := 0
	for start := time.Now(); n == 0 || time.Since(start) < hold; {
		late := time.Since(start) >= hold/2
		queued := 0
		t, err := c.Time(0, repeats, func() error {
			if queued++; queued == repeats && late && read != nil {
				defer read()
			}
			return work()
		})
		if err != nil {
			return 0, err
		}
		if late {
			sum += t
			n++
		}
	}
	return sum / time.Duration(n), nil
}

// Time gives the device time of one run of work, the mean of repeats after warm runs.
func (c *CUDA) Time(warm, repeats int, work func() error) (time.Duration, error) {
	var events [2]*gpu.Event
	for i := range events {
		e, err := c.ctx.NewEvent()
		if err != nil {
			return 0, err
		}
		defer func() { _ = e.Close() }()
		events[i] = e
	}
	for range warm {
		if err := work(); err != nil {
			return 0, err
		}
	}
	if err := c.stream.Record(events[0]); err != nil {
		return 0, err
	}
	for range repeats {
		if err := work(); err != nil {
			return 0, err
		}
	}
	if err := c.stream.Record(events[1]); err != nil {
		return 0, err
	}
	if err := events[1].Synchronize(); err != nil {
		return 0, err
	}
	t, err := events[1].Since(events[0])
	return t / time.Duration(repeats), err
}
