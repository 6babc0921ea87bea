package gpu_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"telefuser/workers/gpu"
)

func device(t *testing.T) *gpu.Device {
	t.Helper()
	dev, err := driver(t).OpenDevice(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	return dev
}

func TestInventory(t *testing.T) {
	driver(t)
	if madeUp() {
		t.Skip("needs an NVIDIA GPU; TestInventoryOfAMadeUpMachine stands in")
	}
	all, err := gpu.Inventory(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		t.Logf("%+v", i)
		if i.Name == "" || i.MemoryBytes == 0 || i.Multiprocessors == 0 || !strings.HasPrefix(i.UUID, "GPU-") {
			t.Errorf("incomplete: %+v", i)
		}
		if i.Telemetry != nil {
			t.Logf("%+v", *i.Telemetry)
		}
	}
}

func TestProbe(t *testing.T) {
	err := device(t).Do(context.Background(), func(c *gpu.Context) error { return c.Probe(context.Background()) })
	if err != nil {
		t.Error(err)
	}
}

func TestCopies(t *testing.T) {
	err := device(t).Do(context.Background(), func(c *gpu.Context) error {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		p, err := c.Alloc(1 << 20)
		if err != nil {
			return err
		}
		in, out := make([]byte, 1<<19), make([]byte, 1<<19)
		for i := range in {
			in[i] = byte(i * 7)
		}
		if err := errors.Join(s.Write(p, in), s.Copy(p+1<<19, p, 1<<19), s.Read(out, p+1<<19)); err != nil {
			return err
		}
		if !bytes.Equal(in, out) {
			t.Error("bytes changed on their way")
		}
		// 100 rows of 300 bytes out of rows of 512, packed.
		rows := gpu.Rows{Dst: p + 1<<19, DstPitch: 300, Src: p + 64, SrcPitch: 512, Width: 300, Count: 100}
		if err := errors.Join(s.CopyRows(rows), s.Read(out, p+1<<19)); err != nil {
			return err
		}
		for r := range 100 {
			if !bytes.Equal(out[r*300:r*300+300], in[64+r*512:64+r*512+300]) {
				t.Fatalf("row %d differs", r)
			}
		}
		if err := s.CopyRows(gpu.Rows{Width: 10, Count: 1, DstPitch: 5, SrcPitch: 10}); !errors.Is(err, gpu.ErrInvalid) {
			t.Errorf("a row longer than its pitch: %v, want ErrInvalid", err)
		}
		return errors.Join(c.Free(p), s.Close())
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPinnedRingKeepsBuffersUntilCopied(t *testing.T) {
	err := device(t).Do(context.Background(), func(c *gpu.Context) error {
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		const n, chunk = 16, 4 << 20
		p, err := c.Alloc(n * chunk)
		if err != nil {
			return err
		}
		ring, err := c.NewPinnedRing(2, chunk)
		if err != nil {
			return err
		}
		for i := range n {
			buf, done, err := ring.Acquire()
			if err != nil {
				return err
			}
			for k := range buf {
				buf[k] = byte(i)
			}
			if err := errors.Join(s.CopyIn(p+gpu.Ptr(i*chunk), buf), done(s)); err != nil {
				return err
			}
		}
		out := make([]byte, n*chunk)
		if err := s.Read(out, p); err != nil {
			return err
		}
		for i := range n {
			if c := bytes.Count(out[i*chunk:(i+1)*chunk], []byte{byte(i)}); c != chunk {
				t.Errorf("chunk %d: %d of %d bytes right", i, c, chunk)
			}
		}
		return errors.Join(ring.Free(), c.Free(p), s.Close())
	})
	if err != nil {
		t.Error(err)
	}
}

// faultPTX holds kernels that break: a trap, a store far outside, an endless loop.
const faultPTX = `.version 7.0
.target sm_70
.address_size 64
.visible .entry trap(.param .u64 p) { trap; ret; }
.visible .entry outside(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; mov.u64 %d, 0x10; mov.u32 %r, 1; st.global.u32 [%d], %r; ret; }
.visible .entry endless(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; .reg .pred %q; ld.param.u64 %d, [p];
again: ld.volatile.global.u32 %r, [%d]; setp.ne.u32 %q, %r, 12345; @%q bra again; ret; }
.visible .entry add(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; ld.param.u64 %d, [p]; ld.global.u32 %r, [%d]; add.u32 %r, %r, 1; st.global.u32 [%d], %r; ret; }
`

func TestGraphReplays(t *testing.T) {
	err := device(t).Do(context.Background(), func(c *gpu.Context) error {
		m, err := c.LoadImage(&gpu.Image{Name: "add", PTX: []byte(faultPTX), PTXMin: 70}, nil)
		if err != nil {
			return err
		}
		f, err := m.Function("add")
		if err != nil {
			return err
		}
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		p, err := c.Alloc(4)
		if err != nil {
			return err
		}
		if err := s.Write(p, make([]byte, 4)); err != nil {
			return err
		}
		g, err := s.Capture(func() error {
			for range 500 {
				if err := s.Launch(f, gpu.Grid{X: 1, Threads: 1}, gpu.NewArgs().Ptr(p)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if g.Nodes() != 500 {
			t.Errorf("%d nodes, want 500", g.Nodes())
		}
		var host time.Duration
		const replays = 50
		for range replays {
			t0 := time.Now()
			err := g.Launch(s)
			host += time.Since(t0)
			if err := errors.Join(err, s.Synchronize()); err != nil {
				return err
			}
		}
		t.Logf("graph of 500 kernels: %.2f us host per replay", float64(host.Microseconds())/replays)
		out := make([]byte, 4)
		if err := s.Read(out, p); err != nil {
			return err
		}
		if got := binary.LittleEndian.Uint32(out); got != 500*replays {
			t.Errorf("counter is %d, want %d", got, 500*replays)
		}
		if _, err := s.Capture(func() error { return errors.New("no") }); err == nil || !strings.Contains(err.Error(), "no") {
			t.Errorf("a failed capture: %v", err)
		}
		return errors.Join(g.Close(), c.Free(p), s.Close(), m.Unload())
	})
	if err != nil {
		t.Error(err)
	}
}

func TestOutOfMemoryLeavesTheDeviceUsable(t *testing.T) {
	dev := device(t)
	err := dev.Do(context.Background(), func(c *gpu.Context) error {
		_, err := c.Alloc(1 << 45)
		return err
	})
	if !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Fatalf("32 TiB: %v, want ErrOutOfMemory", err)
	}
	if dev.Lost() != nil {
		t.Errorf("device lost: %v", dev.Lost())
	}
	if err := dev.Do(context.Background(), func(c *gpu.Context) error { return c.Probe(context.Background()) }); err != nil {
		t.Errorf("the next work: %v", err)
	}
}

// TestFaults commits each fault in a child process, since a lost context never comes back,
// and then checks that this process and its device still work.
func TestFaults(t *testing.T) {
	if *fault != "" {
		commitFault(t)
		return
	}
	driver(t)
	for _, f := range []string{"trap", "outside", "endless"} {
		t.Run(f, func(t *testing.T) {
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(exe, "-test.run=^TestFaults$", "-fault="+f, "-machine="+machineDir()).CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("PASS")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	if err := device(t).Do(context.Background(), func(c *gpu.Context) error { return c.Probe(context.Background()) }); err != nil {
		t.Errorf("after the children's faults: %v", err)
	}
}

func commitFault(t *testing.T) {
	dev, err := driver(t).OpenDevice(context.Background(), 0) // not closed: its process ends
	if err != nil {
		t.Fatal(err)
	}
	err = dev.Do(context.Background(), func(c *gpu.Context) error {
		m, err := c.LoadImage(&gpu.Image{Name: "fault", PTX: []byte(faultPTX), PTXMin: 70}, nil)
		if err != nil {
			return err
		}
		f, err := m.Function(*fault)
		if err != nil {
			return err
		}
		s, err := c.NewStream()
		if err != nil {
			return err
		}
		p, err := c.Alloc(4)
		if err != nil {
			return err
		}
		if err := errors.Join(s.Fill(p, 0, 4), s.Launch(f, gpu.Grid{X: 1, Threads: 1}, gpu.NewArgs().Ptr(p))); err != nil {
			return err
		}
		wait, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return s.Wait(wait)
	})
	if *fault == "endless" {
		if !errors.Is(err, context.DeadlineExceeded) || dev.Lost() != nil {
			t.Errorf("endless kernel: %v (lost: %v), want the deadline", err, dev.Lost())
		}
		// The engine process is what ends a hung kernel: leave without waiting for it.
		_, _ = os.Stdout.WriteString("PASS\n")
		os.Exit(map[bool]int{false: 0, true: 1}[t.Failed()])
	}
	if !errors.Is(err, gpu.ErrDeviceLost) || !errors.Is(dev.Lost(), gpu.ErrDeviceLost) {
		t.Errorf("%s: %v (lost: %v), want ErrDeviceLost", *fault, err, dev.Lost())
	}
	again := dev.Do(context.Background(), func(*gpu.Context) error { t.Error("work ran on a lost device"); return nil })
	if !errors.Is(again, gpu.ErrDeviceLost) {
		t.Errorf("the next work: %v, want ErrDeviceLost", again)
	}
}

func TestPeerCopies(t *testing.T) {
	d := driver(t)
	if n, err := d.Count(); err != nil || n < 2 {
		t.Skipf("needs two GPUs: %d here (%v)", n, err)
	}
	g, err := d.OpenGroup(context.Background(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	err = g.Do(context.Background(), func(cs []*gpu.Context) error { return exchange(t, cs) })
	if err != nil {
		t.Error(err)
	}
}

// exchange lets two GPUs send each other their half at once, by strided copies inside one graph.
func exchange(t *testing.T, cs []*gpu.Context) error {
	const rows, pitch, width = 1024, 1024, 512
	var mem [2]gpu.Ptr
	var st [2]*gpu.Stream
	var ev [4]*gpu.Event
	for i, c := range cs {
		var e1, e2, e3, e4 error
		mem[i], e1 = c.Alloc(2 * rows * pitch)
		st[i], e2 = c.NewStream()
		ev[i], e3 = c.NewEvent()
		ev[2+i], e4 = c.NewEvent()
		if err := errors.Join(e1, e2, e3, e4); err != nil {
			return err
		}
		data := make([]byte, rows*pitch)
		for k := range data {
			data[k] = byte(k*(3+4*i) + k/pitch)
		}
		if err := errors.Join(st[i].Write(mem[i], data), st[i].Fill(mem[i]+rows*pitch, 0xee, rows*pitch), st[i].Synchronize()); err != nil {
			return err
		}
	}
	graph, err := st[0].Capture(func() error {
		if err := errors.Join(st[0].Record(ev[0]), st[1].WaitEvent(ev[0])); err != nil {
			return err
		}
		for i := range cs {
			r := gpu.Rows{Dst: mem[1-i] + rows*pitch, DstPitch: width, Src: mem[i] + gpu.Ptr((1-i)*width), SrcPitch: pitch, Width: width, Count: rows}
			if err := st[i].CopyRows(r); err != nil {
				return err
			}
		}
		return errors.Join(st[1].Record(ev[3]), st[0].WaitEvent(ev[3]))
	})
	if err != nil {
		return err
	}
	if err := errors.Join(graph.Launch(st[0]), st[0].Synchronize()); err != nil {
		return err
	}
	for i := range cs {
		got := make([]byte, rows*width)
		if err := st[i].Read(got, mem[i]+rows*pitch); err != nil {
			return err
		}
		from := 1 - i
		for k := range got {
			at := k/width*pitch + i*width + k%width
			if want := byte(at*(3+4*from) + at/pitch); got[k] != want {
				t.Fatalf("GPU %d, byte %d: %d, want %d", i, k, got[k], want)
			}
		}
	}
	return graph.Close()
}
