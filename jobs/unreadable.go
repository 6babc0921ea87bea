package jobs

import (
	"context"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/encoding/protowire"
)

// unreadableMax bounds one look for messages that cannot be read.
const unreadableMax = 100

// dropUnreadable removes the messages of a pipeline that the queue has taken out, cannot read, and would keep for ever, and counts them: the worker that took one out
// may be dead by now. While one of them is there, the queue gives nothing back of what other workers held when they died.
func (s *Store) dropUnreadable(ctx context.Context, pipeline string) error {
	for _, queue := range []string{s.tickets.queue(pipeline), s.tickets.again(pipeline)} {
		dropped, err := s.tickets.dropUnreadable(ctx, queue)
		if err != nil {
			return unavailable("look for unreadable messages", err)
		}
		s.metrics.tickets.WithLabelValues("undecodable").Add(float64(dropped))
		if dropped > 0 {
			s.log.WarnContext(ctx, "messages that cannot be read removed from the queue", "pipeline", pipeline, "messages", dropped)
		}
	}
	return nil
}

// dropUnreadable looks at the messages whose lease in the queue is over. A message that several reapers see is dropped by one.
func (t *tickets) dropUnreadable(ctx context.Context, queue string) (dropped int, err error) {
	base := "asynq:{" + queue + "}:"
	ids, err := t.rdb.ZRangeByScore(ctx, base+"lease", &redis.ZRangeBy{
		Min: "-inf", Max: strconv.FormatInt(time.Now().Unix(), 10), Count: unreadableMax,
	}).Result()
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	pipe := t.rdb.Pipeline()
	messages := make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		messages[i] = pipe.HGet(ctx, base+"t:"+id, "msg")
	}
	if _, err := pipe.Exec(ctx); err != nil && !isNil(err) {
		return 0, err
	}
	var errs []error
	for i, id := range ids {
		raw, err := messages[i].Bytes()
		if err != nil || readable(raw) {
			continue // one that is gone meanwhile is none of ours
		}
		drop := t.rdb.TxPipeline()
		drop.LRem(ctx, base+"active", 0, id)
		taken := drop.ZRem(ctx, base+"lease", id)
		drop.Del(ctx, base+"t:"+id)
		_, err = drop.Exec(ctx)
		errs = append(errs, err)
		dropped += int(taken.Val())
	}
	return dropped, errors.Join(errs...)
}

// The text fields of the queue's messages: type, id and queue.
const (
	messageType  = 1
	messageID    = 3
	messageQueue = 4
)

// readable says whether the queue can read a message: it is a protobuf whose texts are texts.
func readable(message []byte) bool {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return false
		}
		if number == messageType || number == messageID || number == messageQueue {
			text, m := protowire.ConsumeBytes(message)
			if kind != protowire.BytesType || m < 0 || !utf8.Valid(text) {
				return false
			}
		}
		message = message[n:]
	}
	return true
}
