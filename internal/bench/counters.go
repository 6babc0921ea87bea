package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// countersBytesMax bounds a page of metrics.
const countersBytesMax = 4 << 20

// ReadCounters asks a server for its metrics and answers the sum of each named one over its labels; those that it does not have are absent.
func ReadCounters(ctx context.Context, t Target, names ...string) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL+"/metrics", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("bench: metrics: %w", err)
	}
	if t.Key != "" {
		req.Header.Set("Authorization", "Bearer "+t.Key)
	}
	client := &http.Client{} // its time is ctx's
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("bench: metrics: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("bench: metrics: %w: status %d", ErrTarget, res.StatusCode)
	}
	return sumCounters(io.LimitReader(res.Body, countersBytesMax), names)
}

// sumCounters reads the text form of metrics: a line is NAME{LABELS} VALUE.
func sumCounters(text io.Reader, names []string) (map[string]float64, error) {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	sums := map[string]float64{}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		line := lines.Text()
		name, _, _ := strings.Cut(line, "{")
		name, _, _ = strings.Cut(name, " ")
		if !wanted[name] {
			continue
		}
		fields := strings.Fields(line[strings.LastIndexByte(line, '}')+1:])
		if len(fields) == 0 {
			return nil, fmt.Errorf("bench: metrics: %w: %q", ErrTarget, line)
		}
		value, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			return nil, fmt.Errorf("bench: metrics: %w: %q", ErrTarget, line)
		}
		sums[name] += value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("bench: metrics: %w", err)
	}
	return sums, nil
}
