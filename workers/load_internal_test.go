package workers

import "testing"

func TestLoadCountsExactly(t *testing.T) {
	l := newLoad(2)
	for range 2 {
		if !l.begin() {
			t.Fatal("one of the first two is refused")
		}
	}
	select {
	case <-l.full:
	default:
		t.Error("nobody is told that it is full")
	}
	if l.begin() {
		t.Error("a third may begin")
	}
	l.end()
	if l.busy() != 1 || l.idleFor() != 0 {
		t.Errorf("busy %d, idle %s", l.busy(), l.idleFor())
	}
	endless := newLoad(0)
	for range 100 {
		if !endless.begin() {
			t.Fatal("no bound was set")
		}
	}
}
