package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"telefuser/internal/bench"
	"telefuser/internal/bench/viewer"
	"telefuser/internal/devstack"
	"telefuser/streaming/livekit"
	"telefuser/workers/contract"
	"telefuser/workers/media"
)

// errRelay says that viewers did not get what they are promised.
var errRelay = errors.New("viewers had less than they are promised")

// relayRateMin is the least share of the frames' rate that a viewer may see: 23.5 of 24, goal L9 of docs/testing.md.
const relayRateMin = 23.5 / 24

// benchRelay is one call of the command.
type benchRelay struct {
	benchFlags
	sessions, viewers, fps int
	warmup, duration       time.Duration
	size                   string
}

func newBenchRelayCommand() *cobra.Command {
	b := &benchRelay{}
	cmd := &cobra.Command{
		Use:   "relay",
		Short: "Measure how many streams that are encoded beforehand reach their viewers",
		Long: "relay starts livekit-server and publishes one recorded flight in many rooms, as a GPU that encodes by itself would have it published, to\n" +
			"viewers who put its frames together and count them. It fails when a viewer has less than 23.5 of 24 frames, or a freeze of half a second.",
		Args: cobra.NoArgs,
	}
	b.add(cmd)
	f := cmd.Flags()
	f.IntVar(&b.sessions, "sessions", 10, "streams at the same time")
	f.IntVar(&b.viewers, "viewers", 2, "viewers of each")
	f.StringVar(&b.size, "size", "640x360", "size of the picture")
	f.IntVar(&b.fps, "fps", 24, "frames a second")
	f.DurationVar(&b.warmup, "warmup", 5*time.Second, "how long streams run before anybody looks")
	f.DurationVar(&b.duration, "duration", 10*time.Minute, "how long they are looked at")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if b.sessions < 1 || b.viewers < 1 || b.fps < 1 || b.fps > 60 || b.duration <= 0 {
			return usageError{errors.New("--sessions, --viewers, --fps and --duration must be above 0, --fps at most 60")}
		}
		return b.run(cmd.Context(), cmd.OutOrStdout())
	}
	return cmd
}

func (b *benchRelay) run(ctx context.Context, w io.Writer) error {
	width, height, err := contract.ParseSize(b.size)
	if err != nil {
		return usageError{fmt.Errorf("--size %s: %w", b.size, err)}
	}
	film, err := recordFlight(ctx, media.VP8Options{Width: width, Height: height, FPS: b.fps, BitrateBitsPerSecond: relayBitrate(width, height, b.fps)})
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(b.dir, "telefuser-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // temporary, and told of nowhere
	server, err := devstack.StartLiveKit(ctx, filepath.Join(dir, "livekit"), devstack.LiveKitOptions{})
	if err != nil {
		return err
	}
	defer server.Stop()
	rooms, err := livekit.New(livekit.Config{
		URL: server.URL, APIKey: server.APIKey, APISecret: server.APISecret, NewEncoder: func(media.VP8Options) (livekit.Encoder, error) { return film.play(), nil },
	})
	if err != nil {
		return err
	}
	result, err := b.watch(ctx, rooms, bench.Process{Name: "livekit", PID: server.PID()}, width, height)
	if err != nil {
		return err
	}
	if err := b.report(w, result, result.text()); err != nil {
		return err
	}
	if result.FPSMin < relayRateMin*float64(b.fps) || result.Freezes > 0 {
		return fmt.Errorf("%w: at least %.2f FPS, %d freezes", errRelay, result.FPSMin, result.Freezes)
	}
	return nil
}

// watch publishes every stream and looks at what its viewers get.
func (b *benchRelay) watch(ctx context.Context, rooms *livekit.Server, server bench.Process, width, height int) (*relayResult, error) {
	playing, stop := context.WithCancel(ctx)
	streams, playing := errgroup.WithContext(playing)
	defer func() { stop(); _ = streams.Wait() }() // what went wrong was told below
	var all []*relayStream
	for i := range b.sessions {
		s, err := openRelayStream(ctx, rooms, i, b, width, height)
		if err != nil {
			return nil, err
		}
		defer s.close()
		all = append(all, s)
		streams.Go(func() error { return s.play(playing, b.fps) })
	}
	if err := pause(playing, b.warmup); err != nil {
		return nil, err
	}
	r := &relayResult{Date: time.Now().UTC().Truncate(time.Second), Machine: bench.ReadMachine(), Sessions: b.sessions}
	var (
		begin, end time.Time
		err        error
	)
	r.Processes, err = bench.Watch(playing, []bench.Process{server, {Name: "publishers and viewers", PID: os.Getpid()}}, func(ctx context.Context) error {
		begin = time.Now()
		err := pause(ctx, b.duration)
		end = time.Now()
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Seconds = end.Sub(begin).Seconds()
	var jitter []time.Duration
	for _, s := range all {
		for _, trace := range s.traces {
			seen := viewer.NewSteadiness(trace.Between(begin, end), time.Second/time.Duration(b.fps))
			r.add(seen)
			jitter = append(jitter, seen.Jitter...)
		}
	}
	r.JitterMS = bench.NewQuantiles(jitter, 0)
	return r, nil
}
