package jobs

import "time"

// FileRecord is one uploaded file of a tenant.
type FileRecord struct {
	ID          string    `json:"id"`
	Tenant      string    `json:"tenant"`
	Filename    string    `json:"filename"`
	Purpose     string    `json:"purpose"`
	SizeBytes   int64     `json:"size_bytes"`
	CreatedAt   time.Time `json:"created_at"`
	Key         string    `json:"key"`
	ContentType string    `json:"content_type"`
	SHA256      string    `json:"sha256"`
}
