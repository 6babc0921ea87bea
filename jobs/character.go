package jobs

import "time"

// CharacterRecord is one character of a tenant: a name for an uploaded video.
type CharacterRecord struct {
	ID        string    `json:"id"`
	Tenant    string    `json:"tenant"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	Key       string    `json:"key"`
}
