package wan

import (
	"runtime"
	"sync"
)

// inParts deals n numbers out to the processors, where they are many.
func inParts(n int, do func(from, to int)) {
	const least = 1 << 17 // numbers that are worth another goroutine
	parts := max(1, min(runtime.GOMAXPROCS(0), n/least))
	var others sync.WaitGroup
	for i := 1; i < parts; i++ {
		others.Go(func() { do(i*n/parts, (i+1)*n/parts) })
	}
	do(0, n/parts)
	others.Wait()
}
