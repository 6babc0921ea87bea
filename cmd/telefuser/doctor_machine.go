package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"telefuser/workers/engine"
	"telefuser/workers/gpu"
	"telefuser/workers/media"
)

// tempBytesMin is what one long video and its parts need at the same time, with some to spare.
const tempBytesMin = 2 << 30

func checkLibraries(ctx context.Context, p *patient) {
	v := media.ReadVersions(ctx, p.cfg.Worker.FFmpeg)
	if err := media.CheckEncoder(ctx, p.cfg.Worker.FFmpeg); err != nil {
		p.fail("media.ffmpeg", "without it workers make no videos", "%v", err)
	} else {
		p.ok("media.ffmpeg", "%s encodes H.264 and WebP", orElse(v.FFmpeg, "an unknown version"))
	}
	for _, lib := range []struct {
		check, version string
		err            error
	}{{"media.libvpx", v.VPX, media.CheckVP8(ctx)}, {"media.libopus", v.Opus, media.CheckOpus(ctx)}} {
		switch {
		case lib.err == nil:
			p.ok(lib.check, "%s encodes", lib.version)
		case p.cfg.LiveKit.URL == "":
			p.note(lib.check, "only live sessions need it", "%v", lib.err)
		default:
			p.fail(lib.check, "without it there are no live sessions", "%v", lib.err)
		}
	}
}

func checkGPU(ctx context.Context, p *patient) {
	report, err := readGPUs(ctx, false, engine.Footprints{})
	if err != nil {
		p.fail("gpu", "look at nvidia-smi and the kernel's log", "%v", err)
		return
	}
	if len(report.GPUs) == 0 {
		wanted := len(p.cfg.Worker.GPUs) > 0 || p.cfg.Worker.GPUMap != "" || p.cfg.Stream.WorkerGPUMap != ""
		if wanted {
			p.fail("gpu", "install the driver, or give the container its GPUs", "no GPU: %s, and the settings ask for some", report.Reason)
			return
		}
		p.ok("gpu", "no GPU: %s; pipelines run on the processor", report.Reason)
	}
	for _, g := range report.GPUs {
		check := "gpu." + strconv.Itoa(g.Ordinal)
		if g.Health == gpu.HealthFaulty {
			p.fail(check, "drain this machine and reset or replace the GPU", "%s is %s: %s", g.Name, g.Health, g.HealthReason)
			continue
		}
		var used *uint64
		if g.Telemetry != nil {
			used = g.Telemetry.MemoryUsedBytes
		}
		p.ok(check, "%s, %s, %s used, driver %s, CUDA %s, %s", g.Name, gibibytes(&g.MemoryBytes), gibibytes(used), orUnknown(g.DriverVersion), g.CUDAVersion, g.Health)
	}
}

func checkTemp(_ context.Context, p *patient) {
	dir := p.cfg.TempDir()
	mend := "give the service's user the folder worker.temp_dir, and " + fmt.Sprintf("%.0f", float64(tempBytesMin)/(1<<30)) + " GiB in it for every replica"
	free, err := tryFolder(dir)
	switch {
	case err != nil:
		p.fail("temp", mend, "%v", err)
	case free < tempBytesMin:
		p.note("temp", mend, "%s: %s free", dir, gibibytes(&free))
	default:
		p.ok("temp", "%s: %s free", dir, gibibytes(&free))
	}
}

// tryFolder writes a file there, removes it, and answers the free space in bytes. Folders that it had to make go again.
func tryFolder(dir string) (free uint64, err error) {
	made := ""
	for at := dir; !exists(at) && at != filepath.Dir(at); at = filepath.Dir(at) {
		made = at
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	if made != "" {
		defer func() { _ = removeEmpty(dir, made) }()
	}
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := file.Write(make([]byte, 4096)); err != nil {
		return 0, err
	}
	if err := file.Sync(); err != nil {
		return 0, err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// removeEmpty removes empty folders from dir up to made.
func removeEmpty(dir, made string) error {
	for at := dir; ; at = filepath.Dir(at) {
		if err := os.Remove(at); err != nil || at == made {
			return err
		}
	}
}

func checkPorts(ctx context.Context, p *patient) {
	h := p.cfg.HTTP
	if h.Port != 0 {
		addr := net.JoinHostPort(h.Host, strconv.Itoa(h.Port))
		p.port(ctx, "ports.http", "http.port", addr)
	}
	if h.DebugAddr != "" {
		p.port(ctx, "ports.debug", "http.debug_addr", h.DebugAddr)
	}
	if ip := net.ParseIP(h.Host); h.Auth == "off" && h.Host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		p.fail("ports.auth", "set http.auth to keys, or http.host to 127.0.0.1", "the API listens on %s and asks for no key", h.Host)
	}
}

// port looks whether the service can listen on an address, or does already.
func (p *patient) port(ctx context.Context, check, setting, addr string) {
	listen := net.ListenConfig{}
	ln, err := listen.Listen(ctx, "tcp", addr)
	if err == nil {
		_ = ln.Close()
		p.ok(check, "%s is free", addr)
		return
	}
	if isOurs(ctx, addr) {
		p.ok(check, "%s: the service listens there", addr)
		return
	}
	p.fail(check, "end what listens there, or choose another "+setting, "%v", err)
}

// isOurs says whether a server of ours is at the address.
func isOurs(ctx context.Context, addr string) bool {
	for _, q := range []struct{ path, sign string }{{"http://" + addr + "/health", `"ready"`}, {"https://" + addr + "/health", `"ready"`}, {"http://" + addr + "/metrics", "telefuser_"}} {
		if _, body, err := ask(ctx, q.path); err == nil && strings.Contains(string(body), q.sign) {
			return true
		}
	}
	return false
}
