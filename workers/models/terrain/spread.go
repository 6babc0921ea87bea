package terrain

import (
	"sync"
	"sync/atomic"
)

// spread calls work for each of count tasks on as many goroutines as there are threads, the caller's among them, and waits for all. worker
// tells them apart.
func spread(threads, count int, work func(worker, task int)) {
	var next atomic.Int64
	run := func(worker int) {
		for task := int(next.Add(1)) - 1; task < count; task = int(next.Add(1)) - 1 {
			work(worker, task)
		}
	}
	var group sync.WaitGroup
	for worker := 1; worker < min(threads, count); worker++ {
		group.Go(func() { run(worker) })
	}
	run(0)
	group.Wait()
}
