package jobs

// Garbage names objects in the artifact store that no record owns any more.
type Garbage struct {
	// JobID is the job that owned them; empty for objects that never found an owner.
	JobID string
	Keys  []string
	// token is the entry as Redis holds it.
	token string
}
