package streaming

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// recordVersion is written into every record; a record of a newer one is not understood.
const recordVersion = 1

// The fields of a record, short because there are many: v version, t tenant, p pipeline, s status, e epoch, room, w worker, spec, rs reason, msg message,
// state, pc participants, c and cu creation in milliseconds and microseconds, u update, st first claim, fin end, x expiry, out outcome, facts, ff first frame
// shown, jn room was joined, d owners lost, rqr why it was queued again, sms session timeout, cms longest time without a control.

// decode reads a script's answer of a record: its fields and its place in the queue.
func decode(id string, answer []any) (Session, error) {
	flat := sublist(answer, 0)
	f := make(map[string]string, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		f[word(flat, i)] = word(flat, i+1)
	}
	if len(f) == 0 {
		return Session{}, fmt.Errorf("streaming: session %s: %w", id, ErrNotFound)
	}
	if v, _ := strconv.Atoi(f["v"]); v > recordVersion {
		return Session{}, fmt.Errorf("streaming: session %s: a record of version %d, newer than %d: %w", id, v, recordVersion, ErrInvalid)
	}
	s := Session{
		ID: id, Tenant: f["t"], Status: Status(f["s"]), Room: f["room"], Worker: f["w"], Reason: f["rs"], Message: f["msg"], Outcome: f["out"],
		CreatedAt: clock(f["c"]), UpdatedAt: clock(f["u"]), StartedAt: clock(f["st"]), EndedAt: clock(f["fin"]), ExpiresAt: clock(f["x"]),
		Position: number(answer, 1) + 1,
	}
	s.Epoch, _ = strconv.Atoi(f["e"])
	if f["state"] != "" {
		s.State = []byte(f["state"])
	}
	if n, err := strconv.Atoi(f["pc"]); err == nil {
		s.Participants = &n
	}
	if err := json.Unmarshal([]byte(f["spec"]), &s.Spec); err != nil {
		return Session{}, fmt.Errorf("streaming: session %s: spec: %w: %v", id, ErrInvalid, err)
	}
	if f["facts"] != "" {
		if err := json.Unmarshal([]byte(f["facts"]), &s.Facts); err != nil {
			return Session{}, fmt.Errorf("streaming: session %s: facts: %w: %v", id, ErrInvalid, err)
		}
	}
	return s, nil
}

// clock reads milliseconds since 1970; zero when there are none.
func clock(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}

// encodeFacts writes facts, "" for none.
func encodeFacts(f *Facts) (string, error) {
	if f == nil {
		return "", nil
	}
	text, err := json.Marshal(f)
	return string(text), err
}
