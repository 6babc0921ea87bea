package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

const redisTimeout = 5 * time.Second

// RedisMemory answers used_memory in bytes of the server at addr (host:port), as its INFO tells it.
func RedisMemory(ctx context.Context, addr string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return 0, fmt.Errorf("bench: redis: %w", err)
	}
	defer func() { _ = c.Close() }()
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return 0, fmt.Errorf("bench: redis: %w", err)
	}
	if _, err := c.Write([]byte("INFO memory\r\n")); err != nil {
		return 0, fmt.Errorf("bench: redis: %w", err)
	}
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "used_memory:")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("bench: redis: used_memory: %w", err)
		}
		return n, nil
	}
	return 0, errors.Join(fmt.Errorf("%w: redis tells no used_memory", ErrTarget), lines.Err())
}
