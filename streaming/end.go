package streaming

import (
	"context"
	"fmt"
	"time"
)

// roomGrace is how long the owner of an ended session has for its last words before the reaper closes the room; half of the two seconds that an end may take.
const roomGrace = time.Second

// End ends a session with one of the Reason constants; ending it again changes nothing and is no error. The record is terminal when End returns; its owner
// closes the room within two seconds, and whoever runs the reaper does where there is no owner. It answers the session as it stands then.
func (s *Store) End(ctx context.Context, tenant, id, reason string) (Session, error) {
	e, known := endings[reason]
	if !known {
		return Session{}, fmt.Errorf("streaming: end %s: reason %q: %w", id, reason, ErrInvalid)
	}
	list, err := s.evalList(ctx, "finish", tenant, id, string(e.status), reason, e.message, ms(s.cfg.RetentionTTL), ms(roomGrace))
	if err != nil {
		return Session{}, err
	}
	switch word(list, 0) {
	case "missing":
		return Session{}, fmt.Errorf("streaming: end %s: %w", id, ErrNotFound)
	case "finished":
		s.metrics.finished.WithLabelValues(reason).Inc()
	}
	return decode(id, sublist(list, 1))
}
