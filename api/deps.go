package api

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"telefuser/internal/tracing"
	"telefuser/jobs"
	"telefuser/storage"
	"telefuser/workers/contract"
)

// Deps is what the server stands on. All but Sessions, Rooms, Registry, Logger and Ready must be set.
type Deps struct {
	// Jobs holds the records, Store the artifacts.
	Jobs  Jobs
	Store Store
	// Contracts are the pipelines that can be asked for, at least one.
	Contracts []contract.Contract
	// DecodeImage reads a foreign picture within limits and makes a clean PNG of it.
	DecodeImage DecodeImage
	// Sessions holds the records of live sessions, Rooms is where they meet. Both or none; without them /v1/stream answers 503 streaming_off.
	Sessions Sessions
	Rooms    Rooms
	// Webhooks judges addresses of webhooks and tests their receivers; nil answers 503 webhooks_off on their routes.
	Webhooks Webhooks
	// FetchImage opens a picture by URL; nil means that nothing is fetched.
	FetchImage FetchImage
	// Registry collects the metrics that are served, of all rooms; nil makes a new one.
	Registry *prometheus.Registry
	// Logger takes one line a request; nil discards.
	Logger *slog.Logger
	// Ready answers nil while this process can take requests; nil means that jobs and storage decide alone.
	Ready func(ctx context.Context) error
	// Tracer makes spans of requests; nil makes none.
	Tracer *tracing.Tracer
}

// Picture is a foreign image made clean: its size in pixels and its bytes as PNG.
type Picture struct {
	Width, Height int
	PNG           []byte
}

// DecodeImage reads a PNG, JPEG or WebP. Its errors wrap ErrImageType, ErrImageTooLarge or ErrImageCorrupt where the picture is at
// fault, or are the reader's own or the cause of ctx.
type DecodeImage func(ctx context.Context, r io.Reader) (Picture, error)

// FetchImage opens a picture of at most bytesMax bytes. Its errors, and those of reading, wrap ErrAddress, ErrUnreachable or ErrImageTooLarge where the address is at
// fault. The caller closes it.
type FetchImage func(ctx context.Context, url string, bytesMax int64) (io.ReadCloser, error)

// Webhooks is the part of webhooks that somebody waits for. Its errors wrap ErrAddress or ErrUnreachable where the address is at fault.
type Webhooks interface {
	CheckURL(ctx context.Context, url string) error
	Test(ctx context.Context, tenant, id, kind string) (status int, err error)
}

// Jobs is what the API uses of jobs.Store.
type Jobs interface {
	VideoRecords
	InputRecords
	WebhookRecords
	Keys
	Fleet
	BatchRecords
}

// VideoRecords are the jobs of tenants.
type VideoRecords interface {
	Create(ctx context.Context, r jobs.CreateRequest) (job jobs.Job, replayed bool, err error)
	Get(ctx context.Context, tenant, id string) (jobs.Job, error)
	List(ctx context.Context, tenant string, q jobs.ListQuery) (page []jobs.Job, hasMore bool, err error)
	Delete(ctx context.Context, tenant, id string) (jobs.Job, error)
	QueuePositions(ctx context.Context, page ...jobs.Job) ([]int, error)
	Subscribe(ctx context.Context, id string) (changes <-chan struct{}, cancel func())
}

// InputRecords are uploads: what is staged for a record to come, files and characters.
type InputRecords interface {
	Stage(ctx context.Context, keys ...string) error
	StageFor(ctx context.Context, ttl time.Duration, keys ...string) error
	Unstage(ctx context.Context, keys ...string) error
	PutFile(ctx context.Context, f jobs.FileRecord) (jobs.FileRecord, error)
	GetFile(ctx context.Context, tenant, id string) (jobs.FileRecord, error)
	ListFiles(ctx context.Context, tenant string, q jobs.ListQuery) (page []jobs.FileRecord, hasMore bool, err error)
	DeleteFile(ctx context.Context, tenant, id string) (jobs.FileRecord, error)
	PutCharacter(ctx context.Context, c jobs.CharacterRecord) (jobs.CharacterRecord, error)
	GetCharacter(ctx context.Context, tenant, id string) (jobs.CharacterRecord, error)
}

// BatchRecords are the batches of tenants, and what their holder does with them.
type BatchRecords interface {
	CreateBatch(ctx context.Context, r jobs.CreateBatchRequest) (b jobs.Batch, replayed bool, err error)
	GetBatch(ctx context.Context, tenant, id string) (jobs.Batch, error)
	ListBatches(ctx context.Context, tenant string, q jobs.ListQuery) (page []jobs.Batch, hasMore bool, err error)
	CancelBatch(ctx context.Context, tenant, id string) (jobs.Batch, error)
	TakeBatch(ctx context.Context) (b jobs.Batch, taken bool, err error)
	KeepBatch(ctx context.Context, b jobs.Batch) error
	SaveBatch(ctx context.Context, b *jobs.Batch, to jobs.BatchStatus, lines map[int]jobs.BatchLine, pause time.Duration) error
	BatchLines(ctx context.Context, id string, from, limit int) ([]jobs.BatchLine, error)
	Cancel(ctx context.Context, tenant, id string) (jobs.Job, error)
	OfKey(ctx context.Context, tenant, idempotencyKey string) (id string, err error)
}

// Keys say who calls, how often and for how much.
type Keys interface {
	Authenticate(ctx context.Context, secret string) (tenant, keyID string, err error)
	AllowCreate(ctx context.Context, keyID string) (jobs.Rate, error)
	Quota(ctx context.Context, keyID string) (jobs.Quota, error)
	CheckStored(ctx context.Context, tenant, keyID string) error
}

// WebhookRecords are the endpoints that tenants want to be told at.
type WebhookRecords interface {
	CreateWebhook(ctx context.Context, tenant string, c jobs.WebhookChange) (jobs.Webhook, jobs.Secret, error)
	GetWebhook(ctx context.Context, tenant, id string) (jobs.Webhook, error)
	ListWebhooks(ctx context.Context, tenant string, q jobs.ListQuery) (page []jobs.Webhook, hasMore bool, err error)
	UpdateWebhook(ctx context.Context, tenant, id string, c jobs.WebhookChange) (jobs.Webhook, error)
	RotateWebhookSecret(ctx context.Context, tenant, id string, keepOld bool) (jobs.Webhook, jobs.Secret, error)
	DeleteWebhook(ctx context.Context, tenant, id string) error
}

// Fleet is the state of queue and workers.
type Fleet interface {
	Ping(ctx context.Context) error
	Counts(ctx context.Context, pipeline string) (jobs.Counts, error)
	Workers(ctx context.Context) ([]jobs.WorkerInfo, error)
	Totals(ctx context.Context) (jobs.Totals, error)
}

// Store is what the API uses of storage.Store.
type Store interface {
	Put(ctx context.Context, key string, r io.Reader, o storage.PutOptions) (storage.Object, error)
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, storage.Object, error)
	Stat(ctx context.Context, key string) (storage.Object, error)
	Delete(ctx context.Context, key string) error
	Sign(ctx context.Context, key string, o storage.SignOptions) (string, error)
	Check(ctx context.Context) error
}
