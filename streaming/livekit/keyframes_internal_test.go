package livekit

import (
	"testing"
	"time"
)

func TestNoMoreThanTwoKeyframesInAnySecond(t *testing.T) {
	var k keyframes
	begin := time.Now()
	var made []time.Duration
	for at := time.Duration(0); at < 10*time.Second; at += time.Second / 16 {
		// Asked for with every frame.
		k.want()
		if at == 0 || k.due(begin.Add(at)) {
			k.note(begin.Add(at))
			made = append(made, at)
		}
	}
	for i := 2; i < len(made); i++ {
		if made[i]-made[i-2] < time.Second {
			t.Errorf("3 keyframes from %v to %v", made[i-2], made[i])
		}
	}
	if len(made) != 20 {
		t.Errorf("%d keyframes in 10 s, allowed are 20", len(made))
	}
}

func TestAWishIsGrantedOnceAndLateRatherThanNever(t *testing.T) {
	var k keyframes
	begin := time.Now()
	if k.due(begin) {
		t.Error("nobody asked")
	}
	k.note(begin)
	k.note(begin.Add(100 * time.Millisecond))
	k.want()
	if k.due(begin.Add(900 * time.Millisecond)) {
		t.Error("too early")
	}
	if !k.due(begin.Add(time.Second)) {
		t.Error("the wish is forgotten")
	}
	k.note(begin.Add(time.Second))
	if k.due(begin.Add(time.Minute)) {
		t.Error("granted twice")
	}
}
