package streaming

import "context"

// Run ends what has timed out, re-assigns what lost its owner and closes the rooms of ended sessions, until ctx ends. Any number of processes may run it; each
// step is one script, so none is done twice.
func (s *Store) Run(ctx context.Context, rooms Rooms) error { panic("soon") }
