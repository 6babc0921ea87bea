package terrain

import (
	"sync"
	"sync/atomic"

	"telefuser/internal/cputime"
)

// spread calls work for each of count tasks on as many goroutines as there are threads, the caller's among them, and waits for all. worker
// tells them apart. cpu takes the processor time of all of them.
func spread(cpu *cputime.Meter, threads, count int, work func(worker, task int)) {
	var next atomic.Int64
	run := func(m *cputime.Meter, worker int) {
		m.Start()
		defer m.Stop()
		for task := int(next.Add(1)) - 1; task < count; task = int(next.Add(1)) - 1 {
			work(worker, task)
		}
	}
	if threads = min(threads, count); threads < 2 {
		run(cpu, 0)
		return
	}
	others := make([]cputime.Meter, threads)
	var group sync.WaitGroup
	for worker := 1; worker < threads; worker++ {
		group.Go(func() { run(&others[worker], worker) })
	}
	run(cpu, 0)
	group.Wait()
	for _, m := range others {
		cpu.Add(m.Sum())
	}
}
