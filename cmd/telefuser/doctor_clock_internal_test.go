package main

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// TestDoctorSeesAClockThatIsWrong moves the clock of Redis: by what everybody's differs, by what is worth knowing, and by what breaks signatures; in both directions.
func TestDoctorSeesAClockThatIsWrong(t *testing.T) {
	mini := miniredis.RunT(t)
	c := &clinic{args: map[string]string{"redis-url": "redis://" + mini.Addr() + "/0", "data-dir": t.TempDir(), "port": "0", "skip": "media,gpu,storage,webhooks"}}
	for _, step := range []struct {
		shift   time.Duration
		verdict string
	}{{0, verdictOK}, {time.Second, verdictOK}, {20 * time.Second, verdictNote}, {-20 * time.Second, verdictNote}, {5 * time.Minute, verdictFail}, {-5 * time.Minute, verdictFail}, {-time.Hour, verdictFail}} {
		mini.SetTime(time.Now().Add(step.shift))
		found, _, err := c.visit(t, nil)
		f := found["redis.clock"]
		if f.Verdict != step.verdict || (f.Do != "") != (step.verdict != verdictOK) || (step.verdict == verdictFail) != (err != nil && strings.Contains(err.Error(), "redis.clock")) {
			t.Errorf("a clock of %s: %+v, %v", step.shift, f, err)
		}
		if f.Do != "" && !strings.Contains(f.Do, "NTP") {
			t.Errorf("it says to do %q", f.Do)
		}
	}
}

// TestSkewIsJudgedAtItsBounds holds the bounds of every clock that is looked at: that of Redis and that of the media server.
func TestSkewIsJudgedAtItsBounds(t *testing.T) {
	for ahead, verdict := range map[time.Duration]string{skewNote: verdictOK, skewNote + 1: verdictNote, -skewNote - 1: verdictNote, skewMax: verdictNote, skewMax + 1: verdictFail, -skewMax - 1: verdictFail} {
		p := patient{}
		p.skew("x.clock", ahead)
		if p.findings[0].Verdict != verdict {
			t.Errorf("%s: %+v", ahead, p.findings[0])
		}
	}
}
