package livekit

import (
	"sync"
	"time"
)

// keyframesMax is how many keyframes are made in keyframeWindow because somebody asked. Each costs as much as a third of a second of the stream, so one
// viewer's bad network must not spoil the picture of all.
const (
	keyframesMax   = 2
	keyframeWindow = time.Second
)

// keyframes decides when a keyframe is made. A wish that comes too early is kept until it may be granted.
type keyframes struct {
	mu     sync.Mutex
	wanted bool
	// made are the times of the last keyframes, oldest first.
	made [keyframesMax]time.Time
}

// want asks for a keyframe.
func (k *keyframes) want() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted = true
}

// due says whether the frame of now is to be a keyframe.
func (k *keyframes) due(now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.wanted && now.Sub(k.made[0]) >= keyframeWindow
}

// note says that the frame of now was a keyframe, which grants every wish so far.
func (k *keyframes) note(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted = false
	copy(k.made[:], k.made[1:])
	k.made[keyframesMax-1] = now
}
