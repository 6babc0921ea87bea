package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// followers is how many videos are looked at at once, followEvery the pause of each between two looks.
const (
	followers   = 4
	followEvery = 25 * time.Millisecond
)

// sighting is what one look at a video saw that the look before did not.
type sighting struct {
	status   string
	progress int
}

// story is what the bench knows of one video that was accepted.
type story struct {
	id    string
	words string
	// request is the id of the request that made it; empty where the bench gave none.
	request string
	// picture is what its bytes follow from; empty where that is not known.
	picture string
	// attempts is how many the record counts in the end.
	attempts int
	// want is the outcome that it must have: "completed" or the code of a failure. Several are possible where a fault races the job.
	want []string
	// runsMax is how often its engine may have been started: once, and once more for each fault that struck while it was open.
	runsMax int
	seen    []sighting
	end     *video
	// deleted is set once its deletion was answered with success, looking while somebody looks at it: two looks at once could overtake each other.
	deleted bool
	looking bool
}

// ledger holds every video that was answered with 2xx, and looks at each until it has ended.
type ledger struct {
	apis []*client

	mu      sync.Mutex
	stories map[string]*story
	open    []*story
	next    int
	wrong   []finding
	// extra is how many more runs a video may have that is accepted now.
	extra int
}

func newLedger(apis []*client) *ledger { return &ledger{apis: apis, stories: map[string]*story{}} }

// accept notes a video that was answered with 2xx; a replay of one that is known changes nothing.
func (l *ledger) accept(v video, words string, want ...string) *story {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.stories[v.ID]; s != nil {
		return s
	}
	if len(want) == 0 {
		want = []string{"completed"}
	}
	s := &story{id: v.ID, words: words, want: want, runsMax: 1 + l.extra}
	l.stories[v.ID] = s
	l.open = append(l.open, s)
	return s
}

// disrupt allows every open video one more run.
func (l *ledger) disrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.open {
		s.runsMax++
	}
}

// disrupted allows every video that is open, and every one that is accepted meanwhile, one more run for what is done.
func (l *ledger) disrupted(do func() error) error {
	l.disrupt()
	l.mu.Lock()
	l.extra++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.extra--
	}()
	return do()
}

// remove notes that a video is deleted, before it is: whoever looks at it meanwhile may find it or not.
func (l *ledger) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stories[id]
	s.deleted = true
	l.open = slices.DeleteFunc(l.open, func(o *story) bool { return o == s })
}

// keep takes a removal back: the deletion was refused, and the video must be there.
func (l *ledger) keep(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stories[id]
	s.deleted = false
	if s.end == nil {
		l.open = append(l.open, s)
	}
}

// rewind forgets how far open videos were seen: the records have gone back to what they were a moment ago.
func (l *ledger) rewind() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.open {
		s.seen = nil
	}
}

// objection notes that a promise was broken.
func (l *ledger) objection(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, finding{wrongAnswer, fmt.Sprintf(format, args...)})
}

// waiting is how many videos have not ended.
func (l *ledger) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// all lists the stories of videos that should be there, in the order of their ids.
func (l *ledger) all() []*story {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*story
	for _, s := range l.stories {
		if !s.deleted {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *story) int { return slices.Compare([]byte(a.id), []byte(b.id)) })
	return all
}

// run looks at open videos until ctx ends.
func (l *ledger) run(ctx context.Context) {
	var group sync.WaitGroup
	for i := range followers {
		group.Go(func() {
			tick := time.NewTicker(followEvery)
			defer tick.Stop()
			for turn := i; ctx.Err() == nil; turn++ {
				if s := l.pick(); s != nil {
					v, err := l.apis[turn%len(l.apis)].get(ctx, s.id)
					l.note(s, v, err)
				}
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		})
	}
	group.Wait()
}

// pick answers open videos in turn.
func (l *ledger) pick() *story {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) == 0 {
		return nil
	}
	for range l.open {
		l.next++
		if s := l.open[l.next%len(l.open)]; !s.looking {
			s.looking = true
			return s
		}
	}
	return nil
}

// note holds one look against what must always be true. The number of steps back is compared with the attempts at the end.
func (l *ledger) note(s *story, v video, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.looking = false
	switch {
	case s.deleted || s.end != nil:
	case err != nil:
		if statusOf(err) == http.StatusNotFound {
			l.wrong = append(l.wrong, finding{lost, s.id + ": 404 for a video that was accepted"})
			l.open = slices.DeleteFunc(l.open, func(o *story) bool { return o == s })
		}
	default:
		now := sighting{v.Status, v.Progress}
		if n := len(s.seen); n > 0 && s.seen[n-1] == now {
			return
		}
		s.seen = append(s.seen, now)
		if (v.Progress == 100) != (v.Status == "completed") || v.Status == "queued" && v.Progress != 0 {
			l.wrong = append(l.wrong, finding{wrongCourse, fmt.Sprintf("%s: progress %d while %s", s.id, v.Progress, v.Status)})
		}
		if v.terminal() {
			s.end = &v
			l.open = slices.DeleteFunc(l.open, func(o *story) bool { return o == s })
		}
	}
}

// back is how often status or progress went back.
func (s *story) back() int {
	n := 0
	for i := 1; i < len(s.seen); i++ {
		before, now := s.seen[i-1], s.seen[i]
		if before.status == "in_progress" && now.status == "queued" || before.status == now.status && now.progress < before.progress {
			n++
		}
	}
	return n
}
