package jobs

import "time"

// RecordManifest is what the artifact store keeps of a completed job: enough to make its record again.
type RecordManifest struct {
	ID          string    `json:"id"`
	Tenant      string    `json:"tenant"`
	Attempt     int       `json:"attempt"`
	CreatedAt   time.Time `json:"created_at"`
	StartedAt   time.Time `json:"started_at"`
	CompletedAt time.Time `json:"completed_at"`
	Spec        Spec      `json:"spec"`
	Result      Result    `json:"result"`
}
