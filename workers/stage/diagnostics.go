package stage

// Diagnostics count what should not happen. All but the first three are defects of a stage or of this package.
type Diagnostics struct {
	// StaleEpochResults are results of an earlier epoch of a session.
	StaleEpochResults int64 `json:"stale_epoch_results"`
	// OrphanedResults are results that nobody waited for any more: their session was given up after the drain timeout, or is unknown.
	OrphanedResults int64 `json:"orphaned_results"`
	// DuplicateResults are results that had come before.
	DuplicateResults int64 `json:"duplicate_results"`
	// CleanupFailures are sessions that were poisoned.
	CleanupFailures int64 `json:"cleanup_failures"`
	// SlotLeaks are slots that were still taken when their session was given up or cleaned up.
	SlotLeaks int64 `json:"slot_leaks"`
}

// ByName are the counts by their names.
func (d Diagnostics) ByName() map[string]int64 {
	return map[string]int64{
		"stale_epoch_results": d.StaleEpochResults, "orphaned_results": d.OrphanedResults, "duplicate_results": d.DuplicateResults,
		"cleanup_failures": d.CleanupFailures, "slot_leaks": d.SlotLeaks,
	}
}
