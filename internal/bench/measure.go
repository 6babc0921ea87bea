package bench

import (
	"context"
	"time"
)

// Measure runs the source at the plan's rate for warmup, forgets that, and then runs the plan while it watches the processes. The source starts anew
// after the warm-up.
func (p *Pool) Measure(ctx context.Context, name string, plan Plan, warmup time.Duration, source Source, processes []Process) (Run, error) {
	// Before the warm-up, which is load itself.
	run := Run{Name: name, Machine: ReadMachine()}
	if warmup > 0 {
		warm := plan
		warm.Duration = warmup
		if _, err := p.Run(ctx, warm, source); err != nil {
			return Run{}, err
		}
	}
	var err error
	run.Processes, err = Watch(ctx, processes, func(ctx context.Context) error {
		var err error
		run.Result, err = p.Run(ctx, plan, source)
		return err
	})
	return run, err
}
