package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"telefuser/internal/bench"
)

// The bars of an overload.
const (
	overloadRecoveryMax = 5 * time.Second
	// overloadCalmRate is the load, in creates a second, whose p99 must be back at overloadCalmP99 for the server to have recovered.
	overloadCalmRate = 300
	overloadCalmP99  = 30 * time.Millisecond
	overloadWindow   = time.Second
)

// errOverload means that a server did not keep what it promises about more load than it takes.
var errOverload = errors.New("the overload broke a promise")

// benchOverload is one call of the command.
type benchOverload struct {
	benchFlags
	burst  int
	within time.Duration
	limit  int
	queued int
}

// overloadReport is what became of the burst, and how long the server needed afterwards.
type overloadReport struct {
	Requests int           `json:"requests"`
	Within   time.Duration `json:"within_ns"`
	// Answers counts by status; "none" is a request without an answer.
	Answers map[string]int `json:"answers"`
	// Unhelpful counts refusals without a usable Retry-After.
	Unhelpful int     `json:"refusals_without_retry_after"`
	P50MS     float64 `json:"p50_ms"`
	P99MS     float64 `json:"p99_ms"`
	MaxMS     float64 `json:"max_ms"`
	// RecoveryS is the time from the end of the burst until a calm load is served within its bar again.
	RecoveryS float64 `json:"recovery_s"`
}

func newBenchOverloadCommand() *cobra.Command {
	b := &benchOverload{}
	cmd := &cobra.Command{
		Use:   "overload",
		Short: "Send more creates at once than the server takes, and measure until it is well again",
		Long: "overload sends a burst of creates. Every answer must be a success, a 429 or a 503, refusals with Retry-After; and " +
			fmt.Sprintf("within %s a calm load of\n%d creates a second must be served with a p99 of %s or less. It fails otherwise.", overloadRecoveryMax, overloadCalmRate, overloadCalmP99),
		Args: cobra.NoArgs,
	}
	b.add(cmd)
	f := cmd.Flags()
	f.IntVar(&b.burst, "burst", 2000, "creates of the burst")
	f.DurationVar(&b.within, "within", time.Second, "time in which they are sent")
	f.IntVar(&b.limit, "limit", 0, "creates a minute that the burst's key may make; 0 sets no limit")
	f.IntVar(&b.queued, "queued", 0, "videos of the burst's key that may wait; 0 sets no limit")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return b.run(cmd.Context(), cmd.OutOrStdout()) }
	return cmd
}

func (b *benchOverload) run(ctx context.Context, w io.Writer) error {
	if b.burst < 1 || b.within <= 0 {
		return usageError{errors.New("--burst and --within must be above 0")}
	}
	stack, err := startBenchStack(ctx, benchStackOptions{benchFlags: b.benchFlags, auth: true})
	if err != nil {
		return err
	}
	defer stack.stop()
	out, err := stack.call(ctx, "keys", "create", "--max-creates-per-minute", strconv.Itoa(b.limit), "--max-queued", strconv.Itoa(b.queued))
	if err != nil {
		return err
	}
	loud := bench.Target{URL: stack.target.URL, Key: strings.TrimSpace(string(out))}
	if calm := burst(ctx, stack.target, overloadCalmRate, overloadWindow); !calm.calm() {
		return fmt.Errorf("%w: not calm before it began: %+v", errOverload, calm)
	}
	report := burst(ctx, loud, b.burst, b.within)
	ended := time.Now()
	for calm := false; !calm && ctx.Err() == nil && time.Since(ended) < 4*overloadRecoveryMax; {
		calm = burst(ctx, stack.target, overloadCalmRate, overloadWindow).calm()
	}
	report.RecoveryS = time.Since(ended).Seconds()
	text := fmt.Sprintf("%d creates in %s\nanswers: %v, of refusals %d without retry-after\nms: p50 %.1f, p99 %.1f, max %.1f\nrecovered after %.1f s, the second of calm load included\n",
		report.Requests, report.Within, report.Answers, report.Unhelpful, report.P50MS, report.P99MS, report.MaxMS, report.RecoveryS)
	return errors.Join(b.report(w, report, text), report.check())
}

// calm says whether all were taken in time.
func (r overloadReport) calm() bool {
	return r.Answers["200"] == r.Requests && r.P99MS <= float64(overloadCalmP99.Milliseconds())
}

// check names the first promise that was broken.
func (r overloadReport) check() error {
	for answer, n := range r.Answers {
		if answer != "200" && answer != "429" && answer != "503" {
			return fmt.Errorf("%w: %d answers of %s", errOverload, n, answer)
		}
	}
	if r.Unhelpful > 0 {
		return fmt.Errorf("%w: %d refusals without Retry-After", errOverload, r.Unhelpful)
	}
	if r.RecoveryS > overloadRecoveryMax.Seconds() {
		return fmt.Errorf("%w: recovered after %.1f s", errOverload, r.RecoveryS)
	}
	return nil
}

// burst sends creates at an even rate, each on time whatever became of the others, and waits for every answer.
func burst(ctx context.Context, target bench.Target, n int, within time.Duration) overloadReport {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	report := overloadReport{Requests: n, Within: within, Answers: map[string]int{}}
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	start := time.Now()
	for i := range n {
		due := start.Add(within * time.Duration(i) / time.Duration(n))
		if pause := time.Until(due); pause > 0 {
			time.Sleep(pause)
		}
		all.Go(func() {
			answer, helpful := createOnce(ctx, client, target)
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(due))
			report.Answers[answer]++
			if !helpful {
				report.Unhelpful++
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	at := func(q float64) float64 { return float64(took[min(n-1, int(q*float64(n)))]) / float64(time.Millisecond) }
	report.P50MS, report.P99MS, report.MaxMS = at(0.5), at(0.99), at(1)
	return report
}

// createOnce answers the status of one create, and whether a refusal says when to come again.
func createOnce(ctx context.Context, client *http.Client, target bench.Target) (answer string, helpful bool) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL+"/v1/videos", strings.NewReader(benchBody))
	if err != nil {
		return "none", true
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+target.Key)
	res, err := client.Do(req)
	if err != nil {
		return "none", true
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, res.Body) // an answer that breaks off has its status nevertheless
	wait, err := strconv.Atoi(res.Header.Get("Retry-After"))
	return strconv.Itoa(res.StatusCode), res.StatusCode == http.StatusOK || err == nil && wait > 0
}
