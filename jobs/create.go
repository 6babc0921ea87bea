package jobs

// CreateRequest asks for a job.
type CreateRequest struct {
	Tenant string
	Spec   Spec
	// ID is a preset id, made by NewID, for callers that name objects after it before the record is there. Empty: Create makes one.
	ID string
	// IdempotencyKey is the client's, at most 255 bytes. A second Create with it within IdempotencyTTL replays the first job.
	IdempotencyKey string
	// Fingerprint is the SHA-256, in hex, of the parsed fields: what "the same request" means.
	Fingerprint string
	// Retry says that a client without a key marked this as its retry: a job of the same tenant and fingerprint made within DedupeTTL is replayed.
	Retry bool
	// StagedKeys are objects that were staged for this job; it owns them from now on.
	StagedKeys []string
}
