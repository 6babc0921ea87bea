package stage_test

import (
	"errors"
	"fmt"
	"testing"

	"telefuser/workers/stage"
)

func TestOpenRefuses(t *testing.T) {
	g, err := stage.Build(worldSpec(&journal{}))
	if err != nil {
		t.Fatal(err)
	}
	s, err := stage.New(g, stage.Config{SessionsMax: 2})
	if err != nil {
		t.Fatal(err)
	}
	a := open(t, s, "a", 3)
	refused := func(id string, epoch int64, want error) {
		t.Helper()
		if _, err := s.Open(id, epoch); !errors.Is(err, want) {
			t.Errorf("open %s %d: %v, want %v", id, epoch, err, want)
		}
	}
	refused("a", 4, stage.ErrExists)
	refused("a", 3, stage.ErrStale)
	b := open(t, s, "b", 1)
	refused("c", 1, stage.ErrFull)
	closed(t, a)
	refused("a", 3, stage.ErrStale)
	a = open(t, s, "a", 4)
	closed(t, a)
	closed(t, b)
}

func TestConfigRefuses(t *testing.T) {
	g, err := stage.Build(worldSpec(&journal{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []stage.Config{{SessionsMax: -1}, {DrainTimeout: -1}, {PoisonedMax: -1}} {
		if _, err := stage.New(g, cfg); !errors.Is(err, stage.ErrConfig) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestMemoryOfEndedSessionsIsBounded(t *testing.T) {
	s := shut(t)
	for i := range stage.KeysRemembered + 10 {
		closed(t, open(t, s, fmt.Sprint(i), 1))
	}
	if _, epochs := s.Remembered(); epochs != stage.KeysRemembered {
		t.Errorf("%d ended sessions remembered", epochs)
	}
	if _, err := s.Open("10", 1); !errors.Is(err, stage.ErrStale) {
		t.Errorf("the oldest that is remembered: %v", err)
	}
	closed(t, open(t, s, "9", 1))
}
