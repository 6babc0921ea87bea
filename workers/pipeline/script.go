package pipeline

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The places of a script beside chunk numbers.
const (
	scriptAtLoad  = -2
	scriptAtOpen  = -1
	scriptNowhere = -3
)

// script is a timeline of faults and delays, read from words such as
//
//	frames=29 step_ms=50 load_ms=200 fail=oom@2 hang@3 crash@1 panic@0 kill@4 deaf once=/tmp/marker
//
// A fault's place after the @ is a chunk number from 0, "load" or "open". Words that look like no directive are a prompt and mean
// nothing.
type script struct {
	frames int
	step   time.Duration
	load   time.Duration
	// moved are hundredths.
	moved int
	// deaf work does not hear that its context has ended.
	deaf bool
	// once names a file: faults strike only the first one who can create it, so that the next attempt goes well.
	once string
	// fail, hang, crash, panics and kill are the places of the faults.
	fail, hang, crash, panics, kill int
	failure                         error
	exitCode                        int
}

// parseScript reads the words on top of base.
func parseScript(base script, words string) (script, error) {
	s := base
	for word := range strings.FieldsSeq(words) {
		if err := s.word(word); err != nil {
			return script{}, err
		}
	}
	return s, nil
}

func newScript() script {
	return script{fail: scriptNowhere, hang: scriptNowhere, crash: scriptNowhere, panics: scriptNowhere, kill: scriptNowhere, exitCode: 3}
}

func (s *script) word(word string) error {
	if word == "deaf" {
		s.deaf = true
		return nil
	}
	directive, place, placed := strings.Cut(word, "@")
	name, value, valued := strings.Cut(directive, "=")
	if name == "once" && valued {
		s.once = word[len("once="):]
		return nil
	}
	if !placed && !valued {
		return nil
	}
	if placed {
		return s.fault(name, value, place)
	}
	number, err := strconv.Atoi(value)
	if err != nil || number < 0 {
		return fmt.Errorf("%w: script word %q wants a number", ErrInvalid, word)
	}
	switch name {
	case "frames":
		s.frames = number
	case "step_ms":
		s.step = time.Duration(number) * time.Millisecond
	case "moved":
		s.moved = number
	case "load_ms":
		s.load = time.Duration(number) * time.Millisecond
	default:
		return fmt.Errorf("%w: unknown script word %q", ErrInvalid, word)
	}
	return nil
}

func (s *script) fault(name, value, placeText string) error {
	place, err := scriptPlace(placeText)
	if err != nil {
		return err
	}
	switch name {
	case "fail":
		s.fail = place
		s.failure, err = scriptFailure(value)
	case "hang":
		s.hang = place
	case "panic":
		s.panics = place
	case "kill":
		s.kill = place
	case "crash":
		s.crash = place
		if value != "" {
			s.exitCode, err = strconv.Atoi(value)
		}
	default:
		err = fmt.Errorf("unknown fault %q", name)
	}
	if err != nil {
		return fmt.Errorf("%w: script: %w", ErrInvalid, err)
	}
	return nil
}

func scriptPlace(text string) (int, error) {
	switch text {
	case "load":
		return scriptAtLoad, nil
	case "open":
		return scriptAtOpen, nil
	}
	chunk, err := strconv.Atoi(text)
	if err != nil || chunk < 0 {
		return 0, fmt.Errorf("%w: script place %q is no chunk, load or open", ErrInvalid, text)
	}
	return chunk, nil
}

func scriptFailure(name string) (error, error) {
	switch name {
	case "oom":
		return ErrOutOfMemory, nil
	case "device":
		return ErrDeviceLost, nil
	case "invalid":
		return ErrInvalid, nil
	case "internal":
		return errScripted, nil
	}
	return nil, fmt.Errorf("unknown failure %q", name)
}
