package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"telefuser/internal/config"
	"telefuser/streaming"
	"telefuser/workers/contract"
	"telefuser/workers/engine"
	"telefuser/workers/gpu"
)

func TestStreamServeDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		args, env []string
		port      int
		auth, url string
	}{
		"nothing said":         {nil, nil, 8088, "off", ""},
		"loopback by name":     {[]string{"--host", "localhost"}, nil, 8088, "off", ""},
		"the network":          {[]string{"--host", "0.0.0.0"}, nil, 8088, "keys", ""},
		"the network, by env":  {nil, []string{"TELEFUSER_HTTP_HOST", "0.0.0.0"}, 8088, "keys", ""},
		"open network":         {[]string{"--host", "0.0.0.0", "--auth", "off"}, nil, 8088, "off", ""},
		"open network, by env": {[]string{"--host", "0.0.0.0"}, []string{"TELEFUSER_HTTP_AUTH", "off"}, 8088, "off", ""},
		"keys on loopback":     {[]string{"--auth", "keys"}, nil, 8088, "keys", ""},
		"another port":         {[]string{"--port", "9000"}, nil, 9000, "off", ""},
		"the other default":    {nil, []string{"TELEFUSER_HTTP_PORT", "8000"}, 8000, "off", ""},
		"the usual Redis":      {nil, []string{"TELEFUSER_REDIS_URL", "redis://127.0.0.1:6379/0"}, 8088, "off", "redis://127.0.0.1:6379/0"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.env != nil {
				t.Setenv(c.env[0], c.env[1])
			}
			cmd := &cobra.Command{}
			load := settingsFrom(cmd, streamConfig("off"))
			if err := cmd.ParseFlags(c.args); err != nil {
				t.Fatal(err)
			}
			got, err := loadStream(load)
			if err != nil || got.HTTP.Port != c.port || got.HTTP.Auth != c.auth || got.Redis.URL != c.url {
				t.Errorf("%v: port %d, auth %s, redis %s", err, got.HTTP.Port, got.HTTP.Auth, got.Redis.URL)
			}
		})
	}
}

func TestStreamServeRefusesFiles(t *testing.T) {
	for _, name := range []string{"examples/lingbot/lingbot_world_v2_image_to_video_h100.py", "x.py", "./terrain", "nope"} {
		err := streamPipeline(name)
		if exitCode(err) != exitUsage || !strings.Contains(err.Error(), "terrain") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := streamPipeline("terrain"); err != nil {
		t.Error(err)
	}
}

func TestMissingLiveKitSettingsAreNamed(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	for missing, c := range map[string]config.LiveKit{
		"--livekit-api-key, --livekit-api-secret, --livekit-url": {},
		"--livekit-api-secret": {URL: "ws://h", APIKey: "k"},
		"--livekit-url":        {APIKey: "k", APISecret: secret},
		"APISecret":            {URL: "ws://media.example", APIKey: "k", APISecret: "short"},
	} {
		if _, err := openRooms(c, slog.New(slog.DiscardHandler)); !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), missing) {
			t.Errorf("%+v: %v, want %s", c, err, missing)
		}
	}
	for _, c := range []config.LiveKit{{URL: "wss://media.example", APIKey: "k", APISecret: secret}, {URL: "ws://127.0.0.1:7880", APIKey: "devkey", APISecret: "secret"}} {
		if _, err := openRooms(c, slog.New(slog.DiscardHandler)); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestLiveGPUMap(t *testing.T) {
	parted := func(workers int, text string, log io.Writer) *parts {
		c := config.Default()
		c.Stream.NumWorkers, c.Stream.WorkerGPUMap = workers, text
		return &parts{cfg: c, log: slog.New(slog.NewTextHandler(log, nil))}
	}
	gpuOnly := contract.Contract{Name: "large"}
	for text, workers := range map[string]int{"0;1": 1, "0": 2, "0,0": 1, "0;0": 2, ",": 1, "0;": 2} {
		if _, err := liveGPUMap(t.Context(), parted(workers, text, io.Discard), gpuOnly); !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%q for %d workers: %v", text, workers, err)
		}
	}
	if got, err := liveGPUMap(t.Context(), parted(2, "0,1;2,3", io.Discard), gpuOnly); err != nil || got != "0,1;2,3" {
		t.Errorf("two groups: %q %v", got, err)
	}
	if _, err := gpu.Open(); !errors.Is(err, gpu.ErrNoDriver) {
		t.Skipf("this machine has a GPU's driver: %v", err)
	}
	var log bytes.Buffer
	got, err := liveGPUMap(t.Context(), parted(1, "0", &log), contract.Contract{Name: "terrain", Device: contract.DeviceNeeds{CPU: true}})
	if err != nil || got != "" || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "ignored") {
		t.Errorf("without a GPU: %q %v, and the log is %s", got, err, log.String())
	}
}

// TestDeadEnginesAreToldFromBadSessions: the first may go on elsewhere, the second may not.
func TestDeadEnginesAreToldFromBadSessions(t *testing.T) {
	for _, died := range []error{engine.ErrCrashed, engine.ErrStalled, engine.ErrDeviceLost, engine.ErrOutOfMemory, engine.ErrClosed} {
		if err := liveError(fmt.Errorf("canary: %w", died)); !errors.Is(err, streaming.ErrEngineLost) || !errors.Is(err, died) {
			t.Errorf("%v: %v", died, err)
		}
	}
	for _, own := range []error{engine.ErrInvalid, engine.ErrInternal, engine.ErrBusy, io.EOF, nil} {
		if err := liveError(own); errors.Is(err, streaming.ErrEngineLost) || !errors.Is(err, own) {
			t.Errorf("%v: %v", own, err)
		}
	}
}

func TestLiveOwnerIsAName(t *testing.T) {
	if first, second := liveOwner(), liveOwner(); first == second || len(first) > 64 {
		t.Errorf("%s, %s", first, second)
	}
}
