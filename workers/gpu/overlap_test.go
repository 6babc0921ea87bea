package gpu_test

import (
	"context"
	"encoding/binary"
	"testing"

	"telefuser/workers/gpu"
)

// addPTX adds 1 to a word, and waits for the kernel before it itself.
const addPTX = `.version 7.8
.target sm_90
.address_size 64
.visible .entry add(.param .u64 p) { .reg .b64 %d; .reg .b32 %r; griddepcontrol.launch_dependents; griddepcontrol.wait;
ld.param.u64 %d, [p]; ld.global.u32 %r, [%d]; add.u32 %r, %r, 1; st.global.u32 [%d], %r; ret; }
`

func TestOverlappedLaunchesKeepTheirOrder(t *testing.T) {
	err := device(t).Do(context.Background(), func(c *gpu.Context) error {
		if !madeUp() && c.Capability() < 90 {
			t.Skip("needs a GPU of capability 9.0")
		}
		if !c.Alone() {
			t.Error("one GPU is not alone in its group")
		}
		m, err := c.LoadImage(&gpu.Image{Name: "add", PTX: []byte(addPTX), PTXMin: 70}, nil)
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
		const launches, replays = 500, 3
		run := func() error {
			for range launches {
				if err := s.Launch(f, gpu.Grid{X: 1, Threads: 1, Overlap: true}, gpu.NewArgs().Ptr(p)); err != nil {
					return err
				}
			}
			return nil
		}
		g, err := s.Capture(run)
		if err != nil {
			return err
		}
		if g.Nodes() != launches {
			t.Errorf("%d nodes, not %d", g.Nodes(), launches)
		}
		for range replays {
			if err := g.Launch(s); err != nil {
				return err
			}
		}
		if err := run(); err != nil {
			return err
		}
		var b [4]byte
		if err := s.Read(b[:], p); err != nil {
			return err
		}
		if n := binary.LittleEndian.Uint32(b[:]); n != launches*(replays+1) {
			t.Errorf("counted %d launches, not %d", n, launches*(replays+1))
		}
		return g.Close()
	})
	if err != nil {
		t.Error(err)
	}
}

func TestGroupsAreNotAlone(t *testing.T) {
	d := driver(t)
	if n, err := d.Count(); err != nil || n < 2 {
		t.Skipf("needs two GPUs: %v", err)
	}
	g, err := d.OpenGroup(context.Background(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close() }()
	err = g.Do(context.Background(), func(cs []*gpu.Context) error {
		for _, c := range cs {
			if c.Alone() {
				t.Error("one of two GPUs is alone")
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
