package streaming

import "time"

// bucket is a token bucket with a second's worth of burst. It is used by one goroutine.
type bucket struct {
	perSecond float64
	tokens    float64
	at        time.Time
}

func newBucket(perSecond int) *bucket {
	return &bucket{perSecond: float64(perSecond), tokens: float64(perSecond)}
}

// take spends a token, if there is one.
func (b *bucket) take(now time.Time) bool {
	if !b.at.IsZero() {
		b.tokens = min(b.perSecond, b.tokens+now.Sub(b.at).Seconds()*b.perSecond)
	}
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
