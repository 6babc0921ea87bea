package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"telefuser/internal/bench"
	"telefuser/internal/bench/replay"
)

func newBenchReplayCommand() *cobra.Command {
	var flags benchFlags
	var target bench.Target
	w := replay.OneMinute()
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Play the one-minute streaming workload and hold what came against what was declared",
		Long: "replay plays a bounded, lossless live session of 957 frames at 16 frames a second with a viewer of its own, decodes everything that came, and\n" +
			"fails unless every frame was declared, published, received and decoded once, at the rate that was asked for. Without --url it starts a\n" +
			"redis-server, a livekit-server and `stream-serve terrain` for it.",
		Args: cobra.NoArgs,
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&target.URL, "url", "", "server to play on, as http://host:port; empty starts one")
	cmd.Flags().StringVar(&target.Key, "key", "", "API key of that server")
	frames := cmd.Flags().Int("frames", w.Frames, "frames of the session, 4n+1")
	cmd.Flags().StringVar(&w.Size, "size", w.Size, "size of the picture in pixels")
	cmd.Flags().Float64Var(&w.RateMin, "rate-min", 0, "least frames a second at the viewer, of a server that is not expected to keep up; 0: the session's own")
	picture := cmd.Flags().String("picture", "", "PNG or JPEG that the session begins with")
	ffmpeg := cmd.Flags().String("ffmpeg", "ffmpeg", "the ffmpeg program that decodes")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *picture != "" {
			file, err := os.ReadFile(*picture)
			if err != nil {
				return fmt.Errorf("picture: %w", err)
			}
			w.Picture = "data:" + http.DetectContentType(file) + ";base64," + base64.StdEncoding.EncodeToString(file)
		}
		return benchReplay(cmd.Context(), flags, target, w.Cut(*frames), *ffmpeg, cmd.OutOrStdout())
	}
	return cmd
}

// errReplay says that a workload did not go as it should.
var errReplay = errors.New("the workload did not go as it should")

func benchReplay(ctx context.Context, flags benchFlags, target bench.Target, w replay.Workload, ffmpeg string, out io.Writer) error {
	if _, err := exec.LookPath(ffmpeg); err != nil {
		return fmt.Errorf("decoding needs ffmpeg: %w", err)
	}
	if target.URL == "" {
		stack, err := startLiveStack(ctx, flags, 1)
		if err != nil {
			return err
		}
		defer stack.stop()
		target = stack.target
	}
	result, err := replay.Run(ctx, target, w, ffmpeg)
	if err != nil {
		return err
	}
	if err := flags.report(out, result, result.String()); err != nil {
		return err
	}
	if bad := result.Problems(w, replay.RateTolerance); len(bad) > 0 {
		return fmt.Errorf("%w: %s", errReplay, strings.Join(bad, "; "))
	}
	return nil
}
