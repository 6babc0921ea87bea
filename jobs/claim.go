package jobs

// Cause says why an attempt gave its job back. Each cause has a budget of its own; over budget the job fails with the cause's code.
type Cause string

// The causes.
const (
	// CauseCrash is a worker or engine process that died: DeathsMax deaths end the job as worker_crashed.
	CauseCrash Cause = "crash"
	// CauseOOM is exhausted device memory: OOMMax retries, then gpu_out_of_memory.
	CauseOOM Cause = "oom"
	// CauseTransient is a fault that time mends, a store that does not answer: TransientMax retries with growing pauses, then internal_error.
	CauseTransient Cause = "transient"
	// CauseStalled is an engine that made no progress: StallsMax retries, then stalled.
	CauseStalled Cause = "stalled"
	// CauseDevice is a device that failed under the job: DevicesMax retries, then worker_crashed.
	CauseDevice Cause = "device"
	// CauseDraining is a worker that goes away; it is never charged.
	CauseDraining Cause = "draining"
)
