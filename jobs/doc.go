// Package jobs is the job engine: the record of every job in Redis, the queue that wakes workers up, and the reaper that mends what crashes leave.
//
// It promises that a job once accepted is kept until it ends, ends exactly once, and is run by one attempt at a time as far as its result is concerned: two
// attempts may overlap when a machine freezes, but only the one that owns the record can commit. It must not know what a job makes, where its objects lie, or
// who asks over which protocol. It stands on nothing of ours; asynq, go-redis and redis_rate end here.
//
// # The model
//
// A job is one Redis hash. Its state moves queued -> in_progress -> completed | failed, and back from in_progress to queued when an attempt is lost; docs/states.md is
// the table, and a test runs each of its cells. All writes are Lua scripts (lua/*.lua) that look at the state and the attempt first and take the time
// from Redis, so no clock of a worker or of the API decides anything.
//
// A ticket in asynq wakes a worker up. It names a job and proves nothing: the claim takes the job whose turn it is, that one or another, or finds that nothing waits, and the ticket is
// gone either way. So a ticket too many is harmless, one too few is what the reaper counts, and a worker with nothing to do looks for itself once a second: when tickets get lost, and when a
// Redis that is full lets asynq deliver none. asynq's time-outs, retries, uniqueness, results and cancellation are not used; its handler answers nil for everything the record has
// decided. Only a worker without a free slot, or older than the record, sends a ticket back.
//
// # Whose turn it is
//
// Each tenant has a lane, its queued jobs in order, and the tenants with a lane take turns, one job each; who has nothing waiting has no turn, and who comes has the last one. In a lane jobs
// stand by their time of creation, moved by PriorityStep for each step of priority, so priority takes nothing from another tenant and no job waits for ever. A job that comes back goes first
// in its lane and its tenant has the next turn: it has waited once. One that rests before its next attempt is in no lane until its ticket comes. A tenant with as many runs as its
// quota allows is passed over. The claim is one script, O(log n) in the jobs and O(tenants passed over).
//
// Jobs made by the version before lanes stand in none until their ticket, or the reaper, puts them there; entries of jobs that its workers took are dropped when their turn comes.
//
// The attempt number is the fence. Progress, the keys of objects about to be written, the result: each is refused, as ErrStale, once another attempt was claimed or the job
// has ended. The loser deletes what it wrote; what it could not delete is in the record as staged keys and becomes garbage, once at once and once more after
// ZombieTTL, for a worker that was frozen in the middle of an upload.
//
// # Accepting
//
// Create writes record, indexes, idempotency and an outbox entry in one script, then sends the ticket: two round trips. Once the script has run the job is accepted, and a
// ticket that fails is no error: the reaper sends what the outbox has held for more than two seconds. Entries of tickets that are out are cleared by the script of the next Create, which costs nothing.
// A call whose answer was lost is unknown to its caller (ErrUnavailable); the same call again, or a client's retry with its key, finds the first job.
//
// # Leases
//
// A claim is trusted for LeaseTTL. One script per consumer renews all its claims every RenewEvery and carries their progress, at most every ProgressEvery. When it
// finds that a job was cancelled or deleted, or that another attempt owns it, the run's context ends with that cause; a message on the stop channel makes it look at once.
//
// A worker that cannot reach Redis does not stop: hours of device time are worth more than an early guess. It goes on, and its commit is tried until Redis answers, for
// CommitTimeout. The reaper does its part: when Redis was out of its sight, or its clock jumped, or it has just started, it leaves all leases alone for one LeaseTTL, so that workers who were cut
// off as well renew first. A cut that parts a worker alone from Redis costs it the job after LeaseTTL, and its commit is stale.
//
// # The trust window
//
// With an append-only file synced every second a crash of redis-server loses nothing that had reached the file before its answer, which is everything unless the disk is so slow
// that Redis holds writes back (two seconds at most); a crash of its machine may lose the last second or two, and a failover to a replica what was not replicated. A file
// synced with every write closes the first two gaps. Jobs accepted in that window are gone with their tickets, claims made in it are found again as queued, and completed videos can be made
// known again from their manifests (Rebuild). A flush is seen by Ping (ErrDataLost), and workers stop: what runs has no record to go to. Redis must not evict (CheckPolicy), and creates are
// refused while it is nearly full, so that what runs can end; scripts that end jobs are allowed to run even when it is full.
//
// # Failures and what follows
//
//	API dies after the record      the reaper sends the ticket
//	worker dies                    its lease ends; attempt 2 begins within LeaseTTL + ReapEvery + the queue's pause; DeathsMax deaths end the job
//	worker dies before the claim   an idle worker looks for itself; else two counts find too few tickets, and spare ones are sent
//	worker freezes                 as if it died; when it wakes up its lease is lost and its commit stale
//	worker drains                  running jobs finish within DrainTimeout or are handed back, uncharged
//	out of memory, stall, lost device, passing fault    Requeue: a budget for each cause
//	Redis restarts                 tickets and records are in its file; runs go on
//	Redis is full                  creates are refused from MemoryMaxRatio on; runs end, and waiting jobs begin although asynq is stopped; nothing is half-written
//	ticket lost or archived        an idle worker looks for itself every second; the reaper counts tickets every 5 s
//	message that cannot be read    logged, counted, dropped
//	record of a newer version      left for a newer worker, its ticket comes back every few seconds
//
// # What costs what
//
// Every call of a request is O(log n) in the jobs stored: two round trips for Create, one for everything else; a job's place in the queue is also O(tenants that wait), of which a hundred are
// looked at. asynq's inspector is not used. Cluster mode is not supported: scripts build key names, and one queue is one slot in asynq anyway.
package jobs
