package jobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hibiken/asynq"
)

// ticketType names the message and its version. A handler of this version leaves newer ones to newer workers.
const ticketType = "job:run:v1"

// ticketBytesMax bounds the payload: asynq writes the payload of every active message again with each of its heartbeats.
const ticketBytesMax = 128

// ticketLife is asynq's time-out for a message. It means nothing here, so it is longer than any run.
const ticketLife = 30 * 24 * time.Hour

// ticketRetries is asynq's own budget. Ours are in the record; zero would let asynq archive a message that never ran.
const ticketRetries = 25

// tickets is the queue: a ticket wakes a worker up, which then takes the job whose turn it is, and proves nothing. asynq ends here.
type tickets struct {
	prefix string
	rdb    Client
	client *asynq.Client
}

func newTickets(prefix string, rdb Client) *tickets {
	return &tickets{prefix: prefix, rdb: rdb, client: asynq.NewClientFromRedisClient(rdb)}
}

// queue names the asynq queue of a pipeline's first attempts, and again of its later ones, which go first: their jobs have waited once already.
func (t *tickets) queue(pipeline string) string { return t.prefix + "." + pipeline }
func (t *tickets) again(pipeline string) string { return t.prefix + "." + pipeline + ".again" }

func (t *tickets) queueFor(pipeline string, attempt int) string {
	if attempt > 0 {
		return t.again(pipeline)
	}
	return t.queue(pipeline)
}

func ticketID(id string, attempt int) string { return id + ":" + strconv.Itoa(attempt) }

// send enqueues the ticket for an attempt, after a pause. That it is there already is success: either an earlier sending whose answer was lost, or somebody
// else's. The suffix makes a second ticket beside one that is stuck.
func (t *tickets) send(ctx context.Context, pipeline, id string, attempt int, pause time.Duration, suffix string) error {
	payload := id + " " + strconv.Itoa(attempt)
	if len(payload) > ticketBytesMax {
		return fmt.Errorf("jobs: ticket %s: payload of %d bytes: %w", id, len(payload), ErrInvalid)
	}
	opts := []asynq.Option{asynq.Queue(t.queueFor(pipeline, attempt)), asynq.TaskID(ticketID(id, attempt) + suffix), asynq.MaxRetry(ticketRetries), asynq.Timeout(ticketLife)}
	if pause > 0 {
		opts = append(opts, asynq.ProcessIn(pause))
	}
	_, err := t.client.EnqueueContext(ctx, asynq.NewTask(ticketType, []byte(payload)), opts...)
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
		return unavailable("ticket "+id, err)
	}
	return nil
}

// parseTicket reads a payload.
func parseTicket(payload []byte) (id string, attempt int, err error) {
	if len(payload) > ticketBytesMax {
		return "", 0, fmt.Errorf("jobs: ticket of %d bytes: %w", len(payload), ErrInvalid)
	}
	id, text, found := strings.Cut(string(payload), " ")
	attempt, err = strconv.Atoi(text)
	if !found || err != nil || attempt < 0 || !ValidID(id) {
		return "", 0, fmt.Errorf("jobs: ticket: %w", ErrInvalid)
	}
	return id, attempt, nil
}

// depth is how many messages of a pipeline the queue holds.
type depth struct{ pending, active, leased int64 }

// waiting is how many tickets of a pipeline wait to be delivered, now or after a rest.
func (t *tickets) waiting(ctx context.Context, pipeline string) (int64, error) {
	pipe := t.rdb.Pipeline()
	var lengths []interface{ Val() int64 }
	for _, queue := range []string{t.queue(pipeline), t.again(pipeline)} {
		list := "asynq:{" + queue + "}:"
		lengths = append(lengths, pipe.LLen(ctx, list+"pending"), pipe.ZCard(ctx, list+"scheduled"), pipe.ZCard(ctx, list+"retry"))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, unavailable("count tickets", err)
	}
	var n int64
	for _, l := range lengths {
		n += l.Val()
	}
	return n, nil
}

// depth reads the lengths of the queue's lists, in one round trip. The queue's own statistics are not used: they scan.
func (t *tickets) depth(ctx context.Context, pipeline string) (depth, error) {
	var d depth
	pipe := t.rdb.Pipeline()
	var pending, active, leased []interface{ Val() int64 }
	for _, queue := range []string{t.queue(pipeline), t.again(pipeline)} {
		list := "asynq:{" + queue + "}:"
		pending = append(pending, pipe.LLen(ctx, list+"pending"))
		active = append(active, pipe.LLen(ctx, list+"active"))
		leased = append(leased, pipe.ZCard(ctx, list+"lease"))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return depth{}, unavailable("queue depth", err)
	}
	for i := range pending {
		d.pending += pending[i].Val()
		d.active += active[i].Val()
		d.leased += leased[i].Val()
	}
	return d, nil
}
