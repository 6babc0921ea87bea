package gpu

import (
	"fmt"
	"unsafe"
)

// Graph is captured work that replays with one call of a few microseconds. What changes
// from replay to replay (a position, a seed) must live in device memory that kernels read.
type Graph struct {
	ctx   *Context
	exec  uintptr
	nodes int
}

// Capture records what fn queues on the stream, and on streams that wait for it, other
// GPUs' of the group included, instead of running it.
func (s *Stream) Capture(fn func() error) (*Graph, error) {
	c := s.ctx
	if err := c.use(); err != nil {
		return nil, err
	}
	const relaxed = 2 // work of several contexts, and library calls that allocate, may be captured
	if err := c.check("cuStreamBeginCapture", c.drv.p.captureBegin.Call(s.handle, relaxed)); err != nil {
		return nil, err
	}
	g := &Graph{ctx: c}
	var raw uintptr
	fnErr := guard(fn)
	if err := c.use(); err != nil {
		return nil, joinFirst(fnErr, err)
	}
	endErr := c.check("cuStreamEndCapture", c.drv.p.captureEnd.Call(s.handle, uintptr(unsafe.Pointer(&raw))))
	if fnErr != nil {
		if raw != 0 {
			c.drv.p.graphDestroy.Call(raw)
		}
		return nil, fmt.Errorf("gpu: capture: %w", fnErr)
	}
	if endErr != nil {
		return nil, endErr
	}
	defer c.drv.p.graphDestroy.Call(raw)
	var n uint64
	if err := c.check("cuGraphGetNodes", c.drv.p.graphNodes.Call(raw, 0, uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, err
	}
	g.nodes = int(n)
	if err := c.check("cuGraphInstantiate", c.drv.p.graphInstantiate.Call(uintptr(unsafe.Pointer(&g.exec)), raw, 0)); err != nil {
		return nil, err
	}
	if err := c.check("cuGraphUpload", c.drv.p.graphUpload.Call(g.exec, s.handle)); err != nil {
		return nil, joinFirst(err, g.Close())
	}
	return g, nil
}

// Nodes is the number of captured operations.
func (g *Graph) Nodes() int { return g.nodes }

// Launch queues one replay on a stream.
func (g *Graph) Launch(s *Stream) error {
	if err := s.ctx.use(); err != nil {
		return err
	}
	return s.ctx.check("cuGraphLaunch", s.ctx.drv.p.graphLaunch.Call(g.exec, s.handle))
}

// Close frees the graph; replays under way end first.
func (g *Graph) Close() error {
	if err := g.ctx.use(); err != nil {
		return err
	}
	return g.ctx.check("cuGraphExecDestroy", g.ctx.drv.p.graphExecDestroy.Call(g.exec))
}
