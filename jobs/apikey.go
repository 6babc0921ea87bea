package jobs

import "time"

// KeyInfo is what may be shown of an API key; its secret was shown once, when it was made.
type KeyInfo struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
	// Hint is the first characters of the secret, enough to tell keys apart.
	Hint      string    `json:"hint"`
	CreatedAt time.Time `json:"created_at"`
}

// Rate is what the rate limit says to one request.
type Rate struct {
	Allowed bool
	// Limit is the number of creates a minute, Remaining how many may follow at once; both zero when there is no limit.
	Limit     int
	Remaining int
	// ResetAfter is when Remaining is back at its maximum; RetryAfter is when a refused request may come again, zero when it was allowed.
	ResetAfter time.Duration
	RetryAfter time.Duration
}
