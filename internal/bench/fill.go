package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"telefuser/openapi"
)

// Fill creates n videos as fast as the pool can and answers their ids, oldest first for each connection. The first failure ends it.
func (p *Pool) Fill(ctx context.Context, t Target, body []byte, n int) ([]string, error) {
	head, err := t.head()
	if err != nil {
		return nil, err
	}
	request := encodePost(head, "/v1/videos", body)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	made := make([][]string, len(p.conns))
	var group sync.WaitGroup
	for i, c := range p.conns {
		share := n / len(p.conns)
		if i < n%len(p.conns) {
			share++
		}
		group.Go(func() {
			var err error
			if made[i], err = c.create(ctx, request, share); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("bench: fill: %w", err)
	}
	var ids []string
	for _, part := range made {
		ids = append(ids, part...)
	}
	return ids, nil
}

// create sends the same request n times.
func (c *conn) create(ctx context.Context, request []byte, n int) ([]string, error) {
	ids := make([]string, 0, n)
	for range n {
		status, body, err := c.do(ctx, request)
		if err != nil {
			return nil, err
		}
		var video openapi.Video
		if err := json.Unmarshal(body, &video); err != nil || status != http.StatusOK || video.ID == "" {
			return nil, fmt.Errorf("%w: create answers %d %.200q", ErrTarget, status, body)
		}
		ids = append(ids, video.ID)
	}
	return ids, nil
}
