package jobs

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"
)

// The two answers of a handler that send a ticket back for later; they cost nothing of its budget.
var (
	// errBusy says that no slot is free although the queue thinks so, or that Redis did not answer.
	errBusy = errors.New("no slot is free")
	// errNewer says that the ticket or its job is of a newer version than this worker.
	errNewer = errors.New("newer than this worker")
)

// server makes the queue's consumer side. Its time-outs, retries and cancellations are set out of the way: the record decides.
func (t *tickets) server(cfg ConsumerConfig, log *slog.Logger) *asynq.Server {
	return asynq.NewServerFromRedisClient(t.rdb, asynq.Config{
		Concurrency:              cfg.Slots,
		Queues:                   map[string]int{t.again(cfg.Pipeline): 2, t.queue(cfg.Pipeline): 1},
		StrictPriority:           true,
		TaskCheckInterval:        cfg.TicketCheckInterval,
		DelayedTaskCheckInterval: time.Second,
		ShutdownTimeout:          time.Second,
		IsFailure:                func(err error) bool { return !errors.Is(err, errBusy) && !errors.Is(err, errNewer) },
		RetryDelayFunc:           retryDelay,
		Logger:                   queueLog{log},
		LogLevel:                 asynq.WarnLevel,
	})
}

// retryDelay is how long a ticket that came back rests.
func retryDelay(_ int, err error, _ *asynq.Task) time.Duration {
	if errors.Is(err, errNewer) {
		return 5 * time.Second
	}
	return time.Second
}

// queueLog passes the queue's lines on as warnings at most: none of them decides about a job.
type queueLog struct{ log *slog.Logger }

// Debug drops the line.
func (l queueLog) Debug(...any) {}

// Info drops the line.
func (l queueLog) Info(...any) {}

// Warn passes the line on.
func (l queueLog) Warn(args ...any) { l.line(args) }

// Error passes the line on.
func (l queueLog) Error(args ...any) { l.line(args) }

// Fatal passes the line on; the process lives on.
func (l queueLog) Fatal(args ...any) { l.line(args) }

func (l queueLog) line(args []any) {
	l.log.Warn("queue", "line", fmt.Sprint(args...))
}
