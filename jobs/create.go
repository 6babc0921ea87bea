package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// CreateRequest asks for a job.
type CreateRequest struct {
	Tenant string
	// KeyID is the API key that asks, whose quota holds; one that there is not has that of the configuration.
	KeyID string
	Spec  Spec
	// ID is a preset id, made by NewID, for callers that name objects after it before the record is there. Empty: Create makes one.
	ID string
	// IdempotencyKey is the client's. A second Create of the tenant with it within IdempotencyTTL replays the first job, as long as that is there.
	IdempotencyKey string
	// Fingerprint is the SHA-256, in hex, of the parsed fields: what "the same request" means. Empty: retries without a key are not seen.
	Fingerprint string
	// Retry says that a client without a key marked this as its retry: a job of the same tenant and fingerprint made within DedupeTTL is replayed.
	Retry bool
	// StagedKeys are objects that were staged for this job; it owns them from now on. On a replay they stay staged and are given up in time.
	StagedKeys []string
}

// The bounds of a request, in bytes. A spec is bounded because every queued job holds one in memory.
const (
	SpecBytesMax           = 256 << 10
	IdempotencyKeyBytesMax = 255
	pipelineBytesMax       = 128
	keyIDBytesMax          = 128
)

// acksMax bounds the outbox entries that one Create removes for others; what is dropped beyond it costs the reaper one look each.
const acksMax = 256

// TenantPattern is what a tenant's name looks like; it is part of keys.
const TenantPattern = `^[0-9A-Za-z][0-9A-Za-z_-]{0,63}$`

var (
	tenantPattern      = regexp.MustCompile(TenantPattern)
	fingerprintPattern = regexp.MustCompile(`^([0-9a-f]{64})?$`)
	pipelinePattern    = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._/-]*$`)
)

// Create accepts a job: the record first, then its ticket, in two round trips. Once the record is written the job is accepted, whatever happens to the
// ticket: the reaper sends what is missing. It returns the earlier job, and replayed, for a request that was made before. Its errors are ErrIdempotencyMismatch,
// ErrQueueFull, ErrMemoryFull, ErrQuota, ErrUnstaged, ErrInvalid, and ErrUnavailable, after which it is unknown whether there is a job: the client comes again, with its key.
func (s *Store) Create(ctx context.Context, req CreateRequest) (job Job, replayed bool, err error) {
	if req.ID == "" {
		req.ID = s.ids.New(time.Now())
	}
	spec, err := checkCreate(req)
	if err != nil {
		return Job{}, false, err
	}
	if s.memory.look(ctx, s).full {
		s.metrics.refused.WithLabelValues("memory").Inc()
		return Job{}, false, fmt.Errorf("jobs: create: %w", ErrMemoryFull)
	}
	quota, err := s.Quota(ctx, req.KeyID)
	if err != nil {
		return Job{}, false, err
	}
	answer, err := s.evalList(ctx, "create", s.createArgs(req, spec, quota)...)
	if errors.Is(err, ErrMemoryFull) {
		s.metrics.refused.WithLabelValues("memory").Inc()
	}
	if err != nil {
		return Job{}, false, err
	}
	switch word(answer, 0) {
	case "made":
		return s.made(ctx, req, word(answer, 1))
	case "replay":
		job, err := decodeJob(word(answer, 1), fields(answer, 2))
		return job, true, err
	case "mismatch":
		return Job{}, false, fmt.Errorf("jobs: create: %w", ErrIdempotencyMismatch)
	case "full":
		s.metrics.refused.WithLabelValues("queue").Inc()
		return Job{}, false, fmt.Errorf("jobs: create: %w", ErrQueueFull)
	case "quota":
		return Job{}, false, s.quotaError(word(answer, 1), number(answer, 2))
	case "unstaged":
		return Job{}, false, fmt.Errorf("jobs: create: %w", ErrUnstaged)
	}
	return Job{}, false, fmt.Errorf("jobs: create: the id is taken: %w", ErrInvalid)
}

// checkCreate checks what becomes part of keys or of memory, and encodes the spec.
func checkCreate(req CreateRequest) ([]byte, error) {
	spec, err := json.Marshal(req.Spec)
	if err != nil {
		return nil, fmt.Errorf("jobs: create: spec: %w: %w", ErrInvalid, err)
	}
	wrong := ""
	switch {
	case !tenantPattern.MatchString(req.Tenant):
		wrong = "tenant"
	case !ValidID(req.ID):
		wrong = "id"
	case !validPipeline(req.Spec.Pipeline):
		wrong = "pipeline"
	case len(spec) > SpecBytesMax:
		wrong = "spec size"
	case len(req.IdempotencyKey) > IdempotencyKeyBytesMax:
		wrong = "idempotency key"
	case !fingerprintPattern.MatchString(req.Fingerprint):
		wrong = "fingerprint"
	case !req.Spec.Priority.valid():
		wrong = "priority"
	case len(req.KeyID) > keyIDBytesMax || strings.ContainsAny(req.KeyID, " \r\n"):
		wrong = "key"
	case !validKeys(req.StagedKeys):
		wrong = "staged key"
	}
	if wrong != "" {
		return nil, fmt.Errorf("jobs: create: %s: %w", wrong, ErrInvalid)
	}
	return spec, nil
}

func validPipeline(name string) bool {
	return len(name) <= pipelineBytesMax && pipelinePattern.MatchString(name)
}

// validKeys refuses object keys that could not be told apart in a list of lines.
func validKeys(keys []string) bool {
	for _, k := range keys {
		if k == "" || len(k) > 1024 || strings.ContainsAny(k, "\n\r") {
			return false
		}
	}
	return true
}

// createArgs are the script's arguments; see create.lua.
func (s *Store) createArgs(req CreateRequest, spec []byte, quota Quota) []any {
	idempotency, retry := shortKey(req.IdempotencyKey), "0"
	if req.Retry && req.Fingerprint != "" {
		retry = "1"
	}
	args := []any{req.ID, req.Tenant, req.Spec.Pipeline, spec, SchemaVersion, shortFingerprint(req.Fingerprint), idempotency, retry,
		s.cfg.QueuedMax, ms(s.cfg.IdempotencyTTL), ms(s.cfg.DedupeTTL), req.KeyID, req.Spec.Priority.offset(s.cfg.PriorityStep).Microseconds(), quota.Queued,
		ms(s.cfg.QueueAgeMax), quota.Running, megapixelSeconds(req.Spec), quota.MegapixelSecondsPerHour, quota.StoredBytes, len(req.StagedKeys)}
	for _, k := range req.StagedKeys {
		args = append(args, k)
	}
	return append(args, s.takeAcks()...)
}

// shortKey keeps 144 bits of an idempotency key's digest; an empty one stays empty.
func shortKey(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// OfKey finds the job that a create with an idempotency key made within IdempotencyTTL; "" when there was none.
func (s *Store) OfKey(ctx context.Context, tenant, idempotencyKey string) (id string, err error) {
	text, err := s.rdb.Get(ctx, s.key("i:")+tenant+":"+shortKey(idempotencyKey)).Result()
	if err != nil && !isNil(err) {
		return "", unavailable("look for a key", err)
	}
	id, _, _ = strings.Cut(text, " ")
	return id, nil
}

// shortFingerprint keeps 96 bits of the digest, in 16 bytes: enough to tell the requests of one tenant apart, and small in memory.
func shortFingerprint(digest string) string {
	raw, err := hex.DecodeString(digest)
	if err != nil || len(raw) < 12 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(raw[:12])
}

// made sends the ticket of a new record. Its failure is no error: the job is accepted, and the outbox holds it.
func (s *Store) made(ctx context.Context, req CreateRequest, created string) (Job, bool, error) {
	createdMS, err := strconv.ParseInt(created, 10, 64)
	if err != nil {
		return Job{}, false, fmt.Errorf("jobs: create %s: time %q: %w", req.ID, created, ErrUnavailable)
	}
	job := Job{ID: req.ID, Tenant: req.Tenant, State: StateQueued, Revision: 1, CreatedAt: time.UnixMilli(createdMS).UTC(), Spec: req.Spec}
	s.metrics.created.WithLabelValues(req.Spec.Pipeline).Inc()
	if s.afterRecord != nil {
		if err := s.afterRecord(); err != nil {
			return job, false, nil //nolint:nilerr // a test's cut
		}
	}
	s.sendTicket(ctx, req.Spec.Pipeline, req.ID, 0, 0)
	return job, false, nil
}

// sendTicket enqueues a job's ticket and remembers to clear its outbox entry; a failure is left to the reaper.
func (s *Store) sendTicket(ctx context.Context, pipeline, id string, attempt int, pause time.Duration) {
	if err := s.tickets.send(ctx, pipeline, id, attempt, pause, ""); err != nil {
		s.metrics.ticketErrors.Inc()
		if !errors.Is(err, context.Canceled) {
			s.log.WarnContext(ctx, "ticket not sent; the reaper will", "job_id", id, "attempt", attempt, "error", err)
		}
		return
	}
	s.ackMu.Lock()
	defer s.ackMu.Unlock()
	if len(s.acks) < acksMax {
		s.acks = append(s.acks, outboxEntry(id, attempt))
	}
}

// takeAcks takes the outbox entries to clear.
func (s *Store) takeAcks() []any {
	s.ackMu.Lock()
	defer s.ackMu.Unlock()
	out := make([]any, len(s.acks))
	for i, a := range s.acks {
		out[i] = a
	}
	s.acks = s.acks[:0]
	return out
}

func outboxEntry(id string, attempt int) string { return id + ":" + strconv.Itoa(attempt) }
