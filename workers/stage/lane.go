package stage

import "time"

type slotState uint8

const (
	slotEmpty    slotState = iota
	slotReserved           // an invocation that is in flight will fill it
	slotFull
	slotSpent // consumed before an earlier sequence was
)

type slot struct {
	state slotState
	value any
	at    time.Time // filled
}

// lane is one edge of one session: a window of slots that begins at the lowest sequence that was not consumed. Only sequences within the
// window find room, so early ones can never be locked out by late ones, whatever order they come in.
type lane struct {
	base  int64
	slots []slot
}

func newLane(capacity int) lane { return lane{slots: make([]slot, capacity)} }

func (l *lane) slot(seq int64) *slot { return &l.slots[seq%int64(len(l.slots))] }

func (l *lane) within(seq int64) bool { return seq >= l.base && seq < l.base+int64(len(l.slots)) }

// room says whether seq can be reserved or filled.
func (l *lane) room(seq int64) bool { return l.within(seq) && l.slot(seq).state == slotEmpty }

// full says whether the value of seq is there.
func (l *lane) full(seq int64) bool { return l.within(seq) && l.slot(seq).state == slotFull }

// known says whether seq was filled or reserved at any time.
func (l *lane) known(seq int64) bool {
	return seq < l.base || l.within(seq) && l.slot(seq).state != slotEmpty
}

func (l *lane) reserve(seq int64) { l.slot(seq).state = slotReserved }

func (l *lane) fill(seq int64, v any, now time.Time) {
	*l.slot(seq) = slot{state: slotFull, value: v, at: now}
}

// take consumes seq and moves the window up over all that is consumed.
func (l *lane) take(seq int64) slot {
	taken := *l.slot(seq)
	*l.slot(seq) = slot{state: slotSpent}
	for l.slot(l.base).state == slotSpent {
		*l.slot(l.base) = slot{}
		l.base++
	}
	return taken
}

// drop empties a slot whose value will not be consumed. It is for sessions that have stopped: the window stays.
func (l *lane) drop(seq int64) { *l.slot(seq) = slot{} }

// dropFull empties every full slot from sequence from on.
func (l *lane) dropFull(from int64) {
	for seq := l.base; seq < l.base+int64(len(l.slots)); seq++ {
		if seq >= from && l.slot(seq).state == slotFull {
			l.drop(seq)
		}
	}
}

// taken counts the slots that hold or await a value.
func (l *lane) taken() int {
	n := 0
	for i := range l.slots {
		if l.slots[i].state == slotReserved || l.slots[i].state == slotFull {
			n++
		}
	}
	return n
}

// free counts the slots that a push could fill now.
func (l *lane) free() int {
	n := 0
	for i := range l.slots {
		if l.slots[i].state == slotEmpty {
			n++
		}
	}
	return n
}
