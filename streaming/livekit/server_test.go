package livekit_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"telefuser/streaming/livekit"
)

func TestCheckSaysWhatIsWrong(t *testing.T) {
	s := start(t)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.process.Stop()
	if err := s.Check(t.Context()); !errors.Is(err, livekit.ErrUnavailable) {
		t.Errorf("without a server: %v", err)
	}
	if err := s.Create(t.Context(), "room"); !errors.Is(err, livekit.ErrUnavailable) {
		t.Errorf("create without a server: %v", err)
	}
	if _, err := s.Join(t.Context(), joinOf("room", 1)); !errors.Is(err, livekit.ErrUnavailable) {
		t.Errorf("join without a server: %v", err)
	}
}

func TestRoomsAreMadeAndDeletedAgain(t *testing.T) {
	s := start(t)
	room := s.room(t)
	if err := s.Create(t.Context(), room); err != nil {
		t.Errorf("made again: %v", err)
	}
	for range 2 {
		if err := s.Delete(t.Context(), room); err != nil {
			t.Error(err)
		}
	}
	if err := s.Create(t.Context(), "no such name / ever"); !errors.Is(err, livekit.ErrInvalid) {
		t.Errorf("a bad name: %v", err)
	}
}

func TestAServerThatDoesNotAnswerCostsNoMoreThanTheTimeout(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	s, err := livekit.New(livekit.Config{URL: "ws://" + silent.Addr().String(), APIKey: "k", APISecret: strings.Repeat("s", 32), CallTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"create": func() error { return s.Create(t.Context(), "room") },
		"delete": func() error { return s.Delete(t.Context(), "room") },
		"check":  func() error { return s.Check(t.Context()) },
		"join": func() error {
			_, err := s.Join(t.Context(), joinOf("room", 1))
			return err
		},
	} {
		begin := time.Now()
		if err := call(); !errors.Is(err, livekit.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Create(canceled, "room"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who left: %v", err)
	}
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	err := livekit.Config{URL: "ftp://x", APISecret: "short", ParticipantsMax: 1}.Validate()
	for _, field := range []string{"URL", "PublicURL", "APIKey", "APISecret", "ParticipantsMax"} {
		if err == nil || !strings.Contains(err.Error(), "livekit: "+field+" ") {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
	if !errors.Is(err, livekit.ErrInvalid) {
		t.Error(err)
	}
}
