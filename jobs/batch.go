package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// BatchStatus is where a batch stands. The values are also the wire's.
type BatchStatus string

// The statuses. A batch moves validating -> in_progress -> finalizing -> completed; a bad input file ends it as failed, its window as expired, and its user, by cancelling, as cancelled.
const (
	BatchValidating BatchStatus = "validating"
	BatchInProgress BatchStatus = "in_progress"
	BatchFinalizing BatchStatus = "finalizing"
	BatchCompleted  BatchStatus = "completed"
	BatchFailed     BatchStatus = "failed"
	BatchExpired    BatchStatus = "expired"
	BatchCancelling BatchStatus = "cancelling"
	BatchCancelled  BatchStatus = "cancelled"
)

// Ended says whether the status is never left again.
func (s BatchStatus) Ended() bool {
	return s == BatchCompleted || s == BatchFailed || s == BatchExpired || s == BatchCancelled
}

// Batch is a file of requests that become jobs, and how far that is.
type Batch struct {
	ID     string      `json:"-"`
	Tenant string      `json:"-"`
	Status BatchStatus `json:"-"`
	// CreatedAt and CancellingAt are by the clock of Redis, set by the store; the other times are its holder's. Zero means not yet.
	CreatedAt    time.Time `json:"-"`
	CancellingAt time.Time `json:"-"`
	// Now is the clock of Redis when the batch was taken.
	Now time.Time `json:"-"`

	// KeyID is the API key that asked, whose quota holds for the jobs.
	KeyID       string            `json:"key"`
	Endpoint    string            `json:"endpoint"`
	InputFileID string            `json:"input"`
	Window      string            `json:"window"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	// StartedAt is when its file was found right, FinalizedAt when all of its jobs had ended, EndedAt when it had.
	StartedAt   time.Time `json:"started,omitzero"`
	FinalizedAt time.Time `json:"finalized,omitzero"`
	EndedAt     time.Time `json:"ended,omitzero"`
	// Total is the number of lines, NextLine and NextByte where the first one stands that is not a job yet.
	Total    int   `json:"total"`
	NextLine int   `json:"line"`
	NextByte int64 `json:"byte"`
	// Open are the jobs that have not ended, by line.
	Open      map[int]string `json:"open,omitempty"`
	Completed int            `json:"completed"`
	Failed    int            `json:"failed"`
	// OutputFileID and ErrorFileID are chosen before the files are written, and empty where there is nothing to write.
	OutputFileID string       `json:"output,omitempty"`
	ErrorFileID  string       `json:"error,omitempty"`
	Errors       []BatchError `json:"errors,omitempty"`

	fence string
}

// BatchError is what is wrong with a batch's file. Line counts from 1; 0 is the file as a whole.
type BatchError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// BatchLine is what became of one line.
type BatchLine struct {
	CustomID string `json:"c"`
	// JobID is its job; where it did not become one, Status and Body are the answer that a request would have got.
	JobID  string          `json:"j,omitempty"`
	Status int             `json:"s,omitempty"`
	Body   json.RawMessage `json:"b,omitempty"`
}

// The bounds of batches.
const (
	batchesOpenMax = 100
	// batchKept is how long the record of an ended batch stays.
	batchKept = 30 * 24 * time.Hour
	// BatchLease is how long a holder is trusted without a sign of life.
	BatchLease = 15 * time.Second
)

var batchPattern = regexp.MustCompile(`^batch_[0-9A-Za-z]{26}$`)

// NewBatchID makes a batch id, "batch_" and 26 characters as in NewID.
func NewBatchID(now time.Time) string { return newID("batch_", now) }

// ValidBatchID says whether the text has the form of a batch id.
func ValidBatchID(id string) bool { return batchPattern.MatchString(id) }

// CreateBatchRequest asks for a batch. The other fields mean what they mean in CreateRequest.
type CreateBatchRequest struct {
	Batch          Batch
	IdempotencyKey string
	Fingerprint    string
	Retry          bool
}

// CreateBatch accepts a batch, which a holder then takes. It returns the earlier one, and replayed, for a request that was made before. ErrQuota means that the tenant has too many open
// ones, ErrIdempotencyMismatch that the key was used for another request.
func (s *Store) CreateBatch(ctx context.Context, req CreateBatchRequest) (b Batch, replayed bool, err error) {
	b = req.Batch
	if !ValidBatchID(b.ID) || !tenantPattern.MatchString(b.Tenant) || len(req.IdempotencyKey) > IdempotencyKeyBytesMax || !fingerprintPattern.MatchString(req.Fingerprint) {
		return Batch{}, false, fmt.Errorf("jobs: create batch: %w", ErrInvalid)
	}
	doc, err := json.Marshal(b)
	if err != nil {
		return Batch{}, false, fmt.Errorf("jobs: create batch: %w: %w", ErrInvalid, err)
	}
	answer, err := s.evalList(ctx, "batch_put", b.ID, b.Tenant, doc, batchesOpenMax, shortFingerprint(req.Fingerprint), shortKey(req.IdempotencyKey),
		flag(req.Retry && req.Fingerprint != ""), ms(s.cfg.IdempotencyTTL), ms(s.cfg.DedupeTTL))
	if err != nil {
		return Batch{}, false, err
	}
	switch word(answer, 0) {
	case "made":
		b.CreatedAt, b.Status = parseMS(word(answer, 1)), BatchValidating
		return b, false, nil
	case "replay":
		b, err = decodeBatch(word(answer, 1), fields(answer, 2))
		return b, true, err
	case "mismatch":
		return Batch{}, false, fmt.Errorf("jobs: create batch: %w", ErrIdempotencyMismatch)
	case "full":
		return Batch{}, false, s.quotaError("batches", 0)
	}
	return Batch{}, false, fmt.Errorf("jobs: create batch %s: the id is taken: %w", b.ID, ErrInvalid)
}

func decodeBatch(id string, f map[string]string) (Batch, error) {
	b := Batch{ID: id, Tenant: f["t"], Status: BatchStatus(f["s"]), CreatedAt: parseMS(f["c"]), CancellingAt: parseMS(f["cl"]), fence: f["n"]}
	if err := json.Unmarshal([]byte(f["doc"]), &b); err != nil {
		return Batch{}, fmt.Errorf("jobs: batch %s: %w", id, err)
	}
	return b, nil
}

// GetBatch reads a batch; another tenant's is ErrNotFound.
func (s *Store) GetBatch(ctx context.Context, tenant, id string) (Batch, error) {
	if !ValidBatchID(id) {
		return Batch{}, fmt.Errorf("jobs: get batch: %w", ErrNotFound)
	}
	f, err := s.rdb.HGetAll(ctx, s.key("b:")+id).Result()
	if err != nil {
		return Batch{}, unavailable("get batch "+id, err)
	}
	if len(f) == 0 || f["t"] != tenant {
		return Batch{}, fmt.Errorf("jobs: get batch %s: %w", id, ErrNotFound)
	}
	return decodeBatch(id, f)
}

// ListBatches reads a page of a tenant's batches by id, which is by time of creation.
func (s *Store) ListBatches(ctx context.Context, tenant string, q ListQuery) (page []Batch, hasMore bool, err error) {
	if !tenantPattern.MatchString(tenant) || (q.After != "" && !ValidBatchID(q.After)) {
		return nil, false, fmt.Errorf("jobs: list batches: %w", ErrInvalid)
	}
	answer, err := s.evalList(ctx, "batches", tenant, q.After, q.limit(), flag(q.Descending))
	if err != nil {
		return nil, false, err
	}
	rows, _ := answer[1].([]any)
	for _, row := range rows {
		pair, _ := row.([]any)
		b, err := decodeBatch(word(pair, 0), fields(pair, 1))
		if err != nil {
			return nil, false, err
		}
		page = append(page, b)
	}
	return page, number(answer, 0) == 1, nil
}

// CancelBatch begins to end a batch, whose jobs its holder then cancels; again, it changes nothing. ErrTerminal means that it has ended otherwise, or is about to.
func (s *Store) CancelBatch(ctx context.Context, tenant, id string) (Batch, error) {
	if !ValidBatchID(id) {
		return Batch{}, fmt.Errorf("jobs: cancel batch: %w", ErrNotFound)
	}
	answer, err := s.evalList(ctx, "batch_cancel", id, tenant)
	switch {
	case err != nil:
		return Batch{}, err
	case len(answer) == 0:
		return Batch{}, fmt.Errorf("jobs: cancel batch %s: %w", id, ErrNotFound)
	case word(answer, 0) == "ended":
		return Batch{}, fmt.Errorf("jobs: cancel batch %s: %w", id, ErrTerminal)
	}
	return decodeBatch(id, fields(answer, 1))
}

// TakeBatch takes the batch that is due longest for BatchLease; false when none is.
func (s *Store) TakeBatch(ctx context.Context) (b Batch, taken bool, err error) {
	answer, err := s.evalList(ctx, "batch_take", ms(BatchLease))
	if err != nil || len(answer) == 0 {
		return Batch{}, false, err
	}
	b, err = decodeBatch(word(answer, 0), fields(answer, 2))
	b.Now = parseMS(word(answer, 1))
	return b, err == nil, err
}

// KeepBatch renews the lease. ErrStale means that the batch is somebody else's by now, or was cancelled.
func (s *Store) KeepBatch(ctx context.Context, b Batch) error {
	answer, err := s.evalWord(ctx, "batch_keep", b.ID, b.fence, string(b.Status), ms(BatchLease))
	if err == nil && answer != "ok" {
		return fmt.Errorf("jobs: keep batch %s: %w", b.ID, ErrStale)
	}
	return err
}

// SaveBatch writes what its holder knows, and the lines that have news, and moves the batch on to a status, which may be its own. Afterwards it is due again after the pause, or
// kept with a negative one; an ended batch is due no more. ErrStale as for KeepBatch.
func (s *Store) SaveBatch(ctx context.Context, b *Batch, to BatchStatus, lines map[int]BatchLine, pause time.Duration) error {
	doc, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("jobs: save batch %s: %w: %w", b.ID, ErrInvalid, err)
	}
	due, keep := ms(pause), int64(-1)
	if pause < 0 {
		due = -1
	}
	if to.Ended() {
		keep = ms(batchKept)
	}
	args := []any{b.ID, b.fence, string(b.Status), string(to), doc, due, keep}
	for line, text := range lines {
		row, err := json.Marshal(text)
		if err != nil {
			return fmt.Errorf("jobs: save batch %s: line %d: %w: %w", b.ID, line, ErrInvalid, err)
		}
		args = append(args, line, row)
	}
	answer, err := s.evalWord(ctx, "batch_save", args...)
	if err != nil {
		return err
	}
	if answer != "ok" {
		return fmt.Errorf("jobs: save batch %s: %w", b.ID, ErrStale)
	}
	b.Status = to
	return nil
}

// BatchLines reads what became of the lines from one on, at most so many.
func (s *Store) BatchLines(ctx context.Context, id string, from, limit int) ([]BatchLine, error) {
	names := make([]string, limit)
	for i := range names {
		names[i] = strconv.Itoa(from + i)
	}
	rows, err := s.rdb.HMGet(ctx, s.key("bl:")+id, names...).Result()
	if err != nil {
		return nil, unavailable("batch lines "+id, err)
	}
	out := make([]BatchLine, 0, limit)
	for _, row := range rows {
		var line BatchLine
		if text, ok := row.(string); ok {
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				return nil, fmt.Errorf("jobs: batch %s: line: %w", id, err)
			}
		}
		out = append(out, line)
	}
	return out, nil
}
