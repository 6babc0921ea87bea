package workers

import (
	"os"
	"slices"
)

// Point is a place in the life of an attempt at which fault tests interfere.
type Point string

// The points, in the order in which an attempt passes them.
const (
	PointClaimed      Point = "claimed"
	PointHalf         Point = "half"
	PointEncoding     Point = "encoding"
	PointUploading    Point = "uploading"
	PointBeforeCommit Point = "before_commit"
	PointAfterCommit  Point = "after_commit"
)

func (p Point) known() bool {
	return slices.Contains([]Point{PointClaimed, PointHalf, PointEncoding, PointUploading, PointBeforeCommit, PointAfterCommit}, p)
}

// Hooks are called when an attempt passes a point; nil ones are skipped.
type Hooks map[Point]func()

// pass runs what is hooked to the point, or ends the process there as hard as the kernel can.
func (w *Worker) pass(p Point) {
	if hook := w.cfg.Hooks[p]; hook != nil {
		hook()
	}
	if w.cfg.DieAt == p {
		dieNow()
	}
}

// dieNow is a SIGKILL to oneself: no deferred function runs, nothing is flushed. It does not return.
func dieNow() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}
