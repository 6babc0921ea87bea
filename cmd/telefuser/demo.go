package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// demoReference is the picture that the demo's flight starts from: our own, made by the terrain pipeline.
//
//go:embed demo.jpg
var demoReference []byte

const (
	demoPrompt  = "a green valley between snowy mountains in the evening light"
	demoFrames  = 77
	demoTimeout = 5 * time.Minute
	// demoPollEvery is short because the server is this very process.
	demoPollEvery = 100 * time.Millisecond
	demoBodyBytes = 1 << 20
)

func newDemoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Make one video on the embedded stack and stop",
		Long:  "demo starts what dev starts in a temporary directory, asks the HTTP API for a video from a prompt and a picture, and saves it.",
		Args:  cobra.NoArgs,
	}
	out := cmd.Flags().String("out", "out/demo.mp4", "file to write")
	prompt := cmd.Flags().String("prompt", demoPrompt, "prompt of the video")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return demo(cmd.Context(), *prompt, *out, cmd.OutOrStdout())
	}
	return cmd
}

func demo(ctx context.Context, prompt, out string, say io.Writer) error {
	dir, err := os.MkdirTemp("", "telefuser-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := devConfig()
	c.DataDir, c.HTTP.Port = dir, 0

	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	stack, stop := context.WithCancel(ctx)
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- dev(stack, c, stderrLogger(c.Log), "", func(url string) { ready <- url }, nil) }()
	select {
	case err := <-ended:
		stop()
		return err
	case url := <-ready:
		fmt.Fprintf(say, "API at %s/v1, documents at %s/docs\n", url, url)
		err := (&demoClient{base: url, say: say, http: &http.Client{Timeout: demoTimeout}}).run(ctx, prompt, out)
		stop()
		return errors.Join(err, <-ended)
	}
}

// demoClient speaks to the API as any client would.
type demoClient struct {
	base string
	say  io.Writer
	http *http.Client
}

type demoVideo struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Progress int    `json:"progress"`
	Size     string `json:"size"`
	FPS      int    `json:"fps"`
	Error    *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (d *demoClient) run(ctx context.Context, prompt, out string) error {
	start := time.Now()
	v, err := d.create(ctx, prompt)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.say, "%s: %q, %s, %d frames\n", v.ID, prompt, v.Size, demoFrames)
	for shown := -1; v.Status != "completed"; {
		if v.Status == "failed" {
			return fmt.Errorf("the video failed: %s: %s", v.Error.Code, v.Error.Message)
		}
		if v.Progress != shown {
			shown = v.Progress
			fmt.Fprintf(d.say, "  %-11s %3d %%\n", v.Status, v.Progress)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(demoPollEvery):
		}
		if err := d.call(ctx, http.MethodGet, "/v1/videos/"+v.ID, "", nil, &v); err != nil {
			return err
		}
	}
	n, err := d.download(ctx, v.ID, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.say, "  completed   100 %%\nwrote %s: %d bytes, %d FPS, %.1f s after it was asked for\n", out, n, v.FPS, time.Since(start).Seconds())
	return nil
}

func (d *demoClient) create(ctx context.Context, prompt string) (demoVideo, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	fields := [][2]string{{"model", "terrain"}, {"prompt", prompt}, {"size", "832x480"}, {"num_frames", strconv.Itoa(demoFrames)}, {"fps", "16"}}
	for _, f := range fields {
		if err := form.WriteField(f[0], f[1]); err != nil {
			return demoVideo{}, err
		}
	}
	part, err := form.CreateFormFile("input_reference", "demo.jpg")
	if err != nil {
		return demoVideo{}, err
	}
	if _, err := part.Write(demoReference); err != nil {
		return demoVideo{}, err
	}
	if err := form.Close(); err != nil {
		return demoVideo{}, err
	}
	var v demoVideo
	return v, d.call(ctx, http.MethodPost, "/v1/videos", form.FormDataContentType(), &body, &v)
}

func (d *demoClient) download(ctx context.Context, id, out string) (n int64, err error) {
	res, err := d.do(ctx, http.MethodGet, "/v1/videos/"+id+"/content", "", nil)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	f, err := createFile(out)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.Copy(f, res.Body)
}

func (d *demoClient) call(ctx context.Context, method, path, contentType string, body io.Reader, into any) error {
	res, err := d.do(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(io.LimitReader(res.Body, demoBodyBytes)).Decode(into)
}

func (d *demoClient) do(ctx context.Context, method, path, contentType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, d.base+path, body)
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(res.Body, demoBodyBytes))
		return nil, fmt.Errorf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	return res, nil
}
