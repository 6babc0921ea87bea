package jobs

import "time"

// ListQuery asks for one page of a tenant's jobs.
type ListQuery struct {
	// After is the id behind which the page starts; the row itself may be gone. Empty: from the start.
	After string
	// Limit is the number of jobs, 1..100; 0 means 20.
	Limit int
	// Descending lists the newest first.
	Descending bool
}

// Counts is what a pipeline has to do.
type Counts struct {
	Queued  int
	Running int
	// OldestQueuedAge is how long the job at the head has waited; zero when none waits.
	OldestQueuedAge time.Duration
}
