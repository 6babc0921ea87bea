package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// pollEvery is the longest a watcher waits for a nudge: a message may be lost, the record is not.
const pollEvery = 2 * time.Second

// hub listens to one channel of Redis for the whole process and nudges those who watch an id. It connects with the first watcher and hangs up after the last.
type hub struct {
	rdb     Client
	channel string
	poll    time.Duration
	log     *slog.Logger

	mu       sync.Mutex
	watchers map[string]map[*watcher]struct{}
	stop     context.CancelFunc
	done     sync.WaitGroup
	closed   bool
}

// watcher is one subscription; its channel holds one nudge, since a second one says nothing new.
type watcher struct {
	id    string
	nudge chan struct{}
}

func newHub(rdb Client, channel string, poll time.Duration, log *slog.Logger) *hub {
	return &hub{rdb: rdb, channel: channel, poll: poll, log: log, watchers: map[string]map[*watcher]struct{}{}}
}

// Subscribe nudges whenever the record of a job may have changed, and at least every 2 s; the watcher reads it with Get. Nudges that pile up are one. The
// subscription ends with cancel, which may be called more than once, or with ctx. The channel is never closed.
func (s *Store) Subscribe(ctx context.Context, id string) (changes <-chan struct{}, cancel func()) {
	return s.changes.subscribe(ctx, id)
}

// subscribe adds a watcher of an id.
func (h *hub) subscribe(ctx context.Context, id string) (changes <-chan struct{}, cancel func()) {
	w := h.add(id) //nolint:contextcheck // the listener serves every watcher and ends with the last
	remove := sync.OnceFunc(func() { h.remove(w) })
	unhook := context.AfterFunc(ctx, remove)
	return w.nudge, func() {
		unhook()
		remove()
	}
}

func (h *hub) add(id string) *watcher {
	w := &watcher{id: id, nudge: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return w
	}
	if h.watchers[id] == nil {
		h.watchers[id] = map[*watcher]struct{}{}
	}
	h.watchers[id][w] = struct{}{}
	if h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.stop = stop
		h.done.Go(func() { h.listen(ctx) })
		h.done.Go(func() { h.tick(ctx) })
	}
	return w
}

func (h *hub) remove(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers[w.id], w)
	if len(h.watchers[w.id]) == 0 {
		delete(h.watchers, w.id)
	}
	if len(h.watchers) == 0 && h.stop != nil {
		h.stop()
		h.stop = nil
	}
}

// close ends every subscription and waits for the connection to be gone.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	if h.stop != nil {
		h.stop()
		h.stop = nil
	}
	h.mu.Unlock()
	h.done.Wait()
}

// listen passes messages on until ctx ends. The pool's subscription connects again by itself; here only the pause between tries is ours.
func (h *hub) listen(ctx context.Context) {
	sub := h.rdb.Subscribe(ctx, h.channel)
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })()
	defer func() { _ = sub.Close() }()
	for failed := false; ctx.Err() == nil; {
		message, err := sub.ReceiveMessage(ctx)
		if err == nil {
			failed = false
			h.wake(message.Payload)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if !failed {
			h.log.WarnContext(ctx, "change channel lost; polling meanwhile", "error", err)
		}
		failed = true
		select {
		case <-ctx.Done():
		case <-time.After(h.poll / 4):
		}
	}
}

// tick nudges everybody from time to time.
func (h *hub) tick(ctx context.Context) {
	ticker := time.NewTicker(h.poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			h.mu.Lock()
			for _, ws := range h.watchers {
				for w := range ws {
					w.wake()
				}
			}
			h.mu.Unlock()
		}
	}
}

func (h *hub) wake(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers[id] {
		w.wake()
	}
}

func (w *watcher) wake() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}
