package stage_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"telefuser/workers/stage"
)

// pusher brings some artifacts of one session, in an order of its own.
type pusher struct {
	user      *user
	session   *stage.Session
	artifacts []tokenPort
	finish    <-chan struct{}
	told      bool
	rng       *rand.Rand
}

// push brings every sequence; the final one comes after its announcement.
func (p *pusher) push(count int64) {
	var left []int64
	for seq := range count {
		left = append(left, seq)
	}
	for len(left) > 0 {
		k := p.rng.IntN(min(3, len(left)))
		seq := left[k]
		if seq == count-1 && p.told {
			<-p.finish
		}
		ok, stopped := p.try(seq, k == 0)
		switch {
		case stopped:
			return
		case ok:
			left = append(left[:k], left[k+1:]...)
			p.again(seq)
		default:
			time.Sleep(time.Millisecond)
		}
		if p.rng.IntN(3) == 0 {
			time.Sleep(time.Duration(p.rng.IntN(8)) * time.Millisecond)
		}
	}
}

func (p *pusher) values(seq int64) []stage.Value {
	var values []stage.Value
	for _, a := range p.artifacts {
		values = append(values, a.Of(p.user.world.graph.want(p.session.Key(), seq, a)))
	}
	return values
}

// try pushes once; with the lowest sequence it may wait, since only that one is sure to find room some time.
func (p *pusher) try(seq int64, lowest bool) (ok, stopped bool) {
	if lowest && p.rng.IntN(2) == 0 {
		return true, p.session.Push(context.Background(), seq, p.values(seq)...) != nil
	}
	ok, err := p.session.TryPush(seq, p.values(seq)...)
	if ok && err != nil {
		p.user.wrong("a push did both, admit and fail: %v", err)
	}
	return ok, err != nil
}

// again pushes what was pushed before, which must be refused and change nothing.
func (p *pusher) again(seq int64) {
	if p.rng.IntN(5) > 0 {
		return
	}
	ok, err := p.session.TryPush(seq, p.values(seq)...)
	if ok || err == nil {
		p.user.wrong("%v: sequence %d was admitted twice", p.session.Key(), seq)
	}
	if errors.Is(err, stage.ErrSequence) {
		p.user.wrong("%v: sequence %d again: %v", p.session.Key(), seq, err)
	}
}
