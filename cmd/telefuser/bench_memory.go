package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"telefuser/api"
	"telefuser/internal/bench"
	"telefuser/jobs"
	"telefuser/storage"
)

// memoryIdle is how long a fresh API rests before its idle memory is read.
const memoryIdle = 3 * time.Second

// benchMemory is one call of the command.
type benchMemory struct {
	benchFlags
	uploads, rounds, uploadMB     int
	readers, readerKBs, contentMB int
	readFor                       time.Duration
}

// memoryResult is what bulk traffic cost the API.
type memoryResult struct {
	Name    string        `json:"name"`
	Machine bench.Machine `json:"machine"`
	// OverIdleBytes is the API's highest memory, seen every 100 ms, less its memory before.
	OverIdleBytes int64                 `json:"over_idle_bytes"`
	Processes     []bench.ProcessResult `json:"processes"`
	Uploads       *bench.UploadResult   `json:"uploads,omitempty"`
	Readers       *bench.ReaderResult   `json:"readers,omitempty"`
}

// String is for people.
func (r memoryResult) String() string {
	text := fmt.Sprintf("%s: API %.1f MiB over its idle %.1f MiB, load average %s\n", r.Name, mebibytes(r.OverIdleBytes),
		mebibytes(r.Processes[0].RSSBytesStart), r.Machine.LoadAverage())
	if u := r.Uploads; u != nil {
		text += fmt.Sprintf("  %d uploads in %.1f s, errors %v, each: %s\n", u.Uploads, u.ElapsedS, u.Errors, u.MS)
	}
	if s := r.Readers; s != nil {
		text += fmt.Sprintf("  %d readers took %.1f MiB, the slowest %.2f MiB, errors %v\n", s.Readers, mebibytes(s.Bytes), mebibytes(s.BytesMin), s.Errors)
	}
	return text
}

func newBenchMemoryCommand() *cobra.Command {
	b := &benchMemory{}
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Measure the API's memory under large uploads and slow downloads",
		Args:  cobra.NoArgs,
	}
	b.add(cmd)
	f := cmd.Flags()
	f.IntVar(&b.uploads, "uploads", 50, "uploads at the same time")
	f.IntVar(&b.rounds, "rounds", 4, "uploads one after the other on each connection")
	f.IntVar(&b.uploadMB, "upload-mb", 10, "megabytes of one upload")
	f.IntVar(&b.readers, "readers", 200, "slow readers at the same time")
	f.IntVar(&b.readerKBs, "reader-kbs", 50, "kilobytes a second that one reader takes")
	f.IntVar(&b.contentMB, "content-mb", 20, "megabytes of the artifact that they read")
	f.DurationVar(&b.readFor, "read-for", 20*time.Second, "how long they read")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return b.run(cmd.Context(), cmd.OutOrStdout()) }
	return cmd
}

func (b *benchMemory) run(ctx context.Context, w io.Writer) error {
	var results []memoryResult
	for _, measure := range []func(context.Context, *benchStack) (memoryResult, error){b.videoUploads, b.fileUploads, b.slowReaders} {
		// Each in a process of its own, so that none is idle on top of another's leftovers.
		r, err := b.inStack(ctx, measure)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	var text strings.Builder
	for _, r := range results {
		text.WriteString(r.String())
	}
	return b.report(w, results, text.String())
}

func (b *benchMemory) inStack(ctx context.Context, measure func(context.Context, *benchStack) (memoryResult, error)) (memoryResult, error) {
	machine := bench.ReadMachine()
	stack, err := startBenchStack(ctx, benchStackOptions{benchFlags: b.benchFlags})
	if err != nil {
		return memoryResult{}, err
	}
	defer stack.stop()
	r, err := measure(ctx, stack)
	if err != nil {
		return memoryResult{}, err
	}
	r.Machine, r.OverIdleBytes = machine, r.Processes[0].RSSBytesMax-r.Processes[0].RSSBytesStart
	return r, nil
}

// videoUploads creates videos from a large picture, which the API decodes and stores.
func (b *benchMemory) videoUploads(ctx context.Context, s *benchStack) (memoryResult, error) {
	fields := [][2]string{{"model", "terrain"}, {"prompt", "a green valley"}, {"seconds", "4"}, {"size", "832x480"}}
	return b.upload(ctx, s, "/v1/videos", fields, "input_reference")
}

// fileUploads stores files that nobody looks into.
func (b *benchMemory) fileUploads(ctx context.Context, s *benchStack) (memoryResult, error) {
	return b.upload(ctx, s, "/v1/files", [][2]string{{"purpose", "vision"}}, "file")
}

func (b *benchMemory) upload(ctx context.Context, s *benchStack, path string, fields [][2]string, fileField string) (memoryResult, error) {
	picture, err := bench.PaddedPNG(832, 480, b.uploadMB*1_000_000)
	if err != nil {
		return memoryResult{}, err
	}
	form, err := bench.NewForm(fields, fileField, "picture.png", picture)
	if err != nil {
		return memoryResult{}, err
	}
	if err := pause(ctx, memoryIdle); err != nil {
		return memoryResult{}, err
	}
	r := memoryResult{Name: fmt.Sprintf("%d uploads of %d MB at once to %s", b.uploads, b.uploadMB, path)}
	r.Processes, err = bench.Watch(ctx, s.processes(), func(ctx context.Context) error {
		uploads, err := bench.Uploads(ctx, s.target, path, form, b.uploads, b.rounds)
		r.Uploads = &uploads
		return err
	})
	return r, err
}

// slowReaders download a video of random bytes.
func (b *benchMemory) slowReaders(ctx context.Context, s *benchStack) (memoryResult, error) {
	id, err := s.plantVideo(ctx, b.contentMB*1_000_000)
	if err != nil {
		return memoryResult{}, err
	}
	if err := pause(ctx, memoryIdle); err != nil {
		return memoryResult{}, err
	}
	plan := bench.ReaderPlan{
		Path: "/v1/videos/" + id + "/content", Readers: b.readers, BytesPerSecond: b.readerKBs * 1000, Duration: b.readFor,
	}
	r := memoryResult{Name: fmt.Sprintf("%d readers of %d MB at %d KB/s", b.readers, b.contentMB, b.readerKBs)}
	r.Processes, err = bench.Watch(ctx, s.processes(), func(ctx context.Context) error {
		readers, err := bench.SlowReaders(ctx, s.target, plan)
		r.Readers = &readers
		return err
	})
	return r, err
}

// plantVideo makes a completed video of random bytes, as if a worker had.
func (s *benchStack) plantVideo(ctx context.Context, sizeBytes int) (id string, err error) {
	p, err := s.parts(ctx)
	if err != nil {
		return "", err
	}
	defer p.close(ctx)
	content := make([]byte, sizeBytes)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content) // never fails
	now := time.Now()
	id = jobs.NewID(now)
	key := "videos/" + id + "/1/video.mp4"
	object, err := p.objects.Put(ctx, key, bytes.NewReader(content), storage.PutOptions{ContentType: "video/mp4", SizeBytes: int64(sizeBytes)})
	if err != nil {
		return "", err
	}
	_, err = p.records.Rebuild(ctx, jobs.RecordManifest{
		ID: id, Tenant: api.LocalTenant, Attempt: 1, CreatedAt: now, StartedAt: now, CompletedAt: now,
		Spec:   jobs.Spec{Pipeline: "terrain", Model: "terrain", Task: "t2v", Prompt: "noise", Width: 832, Height: 480, FPS: 16, Frames: 64, Seconds: "4"},
		Result: jobs.Result{VideoKey: key, SizeBytes: object.SizeBytes, SHA256: object.SHA256, Frames: 64, Seconds: "4"},
	})
	return id, err
}
