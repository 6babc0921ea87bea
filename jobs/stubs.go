package jobs

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Create ...
func (s *Store) Create(ctx context.Context, req CreateRequest) (job Job, replayed bool, err error) {
	panic("todo")
}
func (s *Store) Get(ctx context.Context, tenant, id string) (Job, error) { panic("todo") }
func (s *Store) List(ctx context.Context, tenant string, q ListQuery) (jobs []Job, hasMore bool, err error) {
	panic("todo")
}
func (s *Store) Delete(ctx context.Context, tenant, id string) (Job, error) { panic("todo") }
func (s *Store) Cancel(ctx context.Context, tenant, id string) (Job, error) { panic("todo") }
func (s *Store) QueuePosition(ctx context.Context, job Job) (position int, queued bool, err error) {
	panic("todo")
}
func (s *Store) Counts(ctx context.Context, pipeline string) (Counts, error) { panic("todo") }

// Subscribe: a nudge (coalesced) whenever the job's record may have changed, at least every 2 s; read with Get. cancel is idempotent.
func (s *Store) Subscribe(ctx context.Context, id string) (changes <-chan struct{}, cancel func()) {
	panic("todo")
}

// Stage registers object keys before they are uploaded; Create (StagedKeys) takes them over, else they become garbage after StagedTTL.
func (s *Store) Stage(ctx context.Context, keys ...string) error               { panic("todo") }
func (s *Store) Unstage(ctx context.Context, keys ...string) error             { panic("todo") }
func (s *Store) NextGarbage(ctx context.Context, limit int) ([]Garbage, error) { panic("todo") }
func (s *Store) GarbageDone(ctx context.Context, done ...Garbage) error        { panic("todo") }
func (s *Store) SweepExpired(ctx context.Context, limit int) (int, error)      { panic("todo") }
func (s *Store) RunReaper(ctx context.Context) error                           { panic("todo") }
func (s *Store) Rebuild(ctx context.Context, m RecordManifest) (created bool, err error) {
	panic("todo")
}
func (s *Store) Ping(ctx context.Context) error                                 { panic("todo") }
func (s *Store) CheckPolicy(ctx context.Context) (warnings []string, err error) { panic("todo") }
func (s *Store) Heartbeat(ctx context.Context, w WorkerInfo) error              { panic("todo") }
func (s *Store) Goodbye(ctx context.Context, owner string) error                { panic("todo") }
func (s *Store) Workers(ctx context.Context) ([]WorkerInfo, error)              { panic("todo") }
func (s *Store) Collector() prometheus.Collector                                { panic("todo") }
func (s *Store) CreateKey(ctx context.Context, tenant, name string) (secret string, info KeyInfo, err error) {
	panic("todo")
}

// ListKeys lists all keys (tenant "" = of all tenants).
func (s *Store) ListKeys(ctx context.Context, tenant string) ([]KeyInfo, error) { panic("todo") }
func (s *Store) RevokeKey(ctx context.Context, id string) error                 { panic("todo") }
func (s *Store) Authenticate(ctx context.Context, secret string) (tenant, keyID string, err error) {
	panic("todo")
}
func (s *Store) AllowCreate(ctx context.Context, keyID string) (Rate, error) { panic("todo") }
func NewFileID(now time.Time) string                                         { panic("todo") }
func ValidFileID(id string) bool                                             { panic("todo") }
func NewCharacterID(now time.Time) string                                    { panic("todo") }
func ValidCharacterID(id string) bool                                        { panic("todo") }

// PutFile stores the record (CreatedAt set by Redis' clock, returned) and releases Key from staging.
func (s *Store) PutFile(ctx context.Context, f FileRecord) (FileRecord, error)      { panic("todo") }
func (s *Store) GetFile(ctx context.Context, tenant, id string) (FileRecord, error) { panic("todo") }
func (s *Store) ListFiles(ctx context.Context, tenant string, q ListQuery) (files []FileRecord, hasMore bool, err error) {
	panic("todo")
}

// DeleteFile removes the record; its object becomes garbage.
func (s *Store) DeleteFile(ctx context.Context, tenant, id string) (FileRecord, error) { panic("todo") }
func (s *Store) PutCharacter(ctx context.Context, c CharacterRecord) (CharacterRecord, error) {
	panic("todo")
}
func (s *Store) GetCharacter(ctx context.Context, tenant, id string) (CharacterRecord, error) {
	panic("todo")
}

type Consumer struct{}

func (s *Store) NewConsumer(cfg ConsumerConfig, run RunFunc) (*Consumer, error) { panic("todo") }

// Run returns when ctx ended and everything it started has ended.
func (c *Consumer) Run(ctx context.Context) error { panic("todo") }
func (c *Consumer) Busy() int                     { panic("todo") }

// Claim is one attempt. Its fields never change.
type Claim struct {
	ID      string
	Attempt int
	Job     Job
}

// Stop ends the run's context with a cause.
func (c *Claim) Stop(cause error) { panic("todo") }

// Progress never blocks and never fails: the latest value is written with the next pulse (250 ms), monotonic, below 100.
func (c *Claim) Progress(percent int, phase string) { panic("todo") }

// StageKeys records object keys of this attempt BEFORE they are written; whatever Complete's result does not name becomes garbage.
func (c *Claim) StageKeys(ctx context.Context, keys ...string) error { panic("todo") }
func (c *Claim) Complete(ctx context.Context, result Result) error   { panic("todo") }
func (c *Claim) Fail(ctx context.Context, failure Failure) error     { panic("todo") }

// Requeue gives the job back; over the cause's budget it fails instead. It returns the state that the job is in now.
func (c *Claim) Requeue(ctx context.Context, cause Cause) (State, error) { panic("todo") }

type script struct{}

func (sc *script) run(ctx context.Context, rdb Client, prefix string, args ...any) (any, error) {
	panic("todo")
}

type tickets struct{}
type hub struct{}
type keyCache struct{}
type memoryGauge struct{}
type counters struct{}
type epochWatch struct{}
type limiter struct{}

func newCounters() *counters              { return nil }
func newTickets(string, Client) *tickets  { return nil }
func newHub(Client, string, any) *hub     { return nil }
func newKeyCache(time.Duration) *keyCache { return nil }
func newLimiter(Config, Client) limiter   { return limiter{} }
func (h *hub) close()                     {}
