package contract

import (
	"strconv"
	"strings"
)

// framesExplicitMax keeps a wrong num_frames out of every later product.
const framesExplicitMax = 1 << 30

// ParseSeconds reads a length in whole seconds from text ("4", "04") or a JSON number (4). It checks the form and that the length is
// at least 1; Geometry holds the upper bound. Its error is an *Error for the field `seconds`.
func ParseSeconds(value any) (int64, error) {
	text, isText := value.(string)
	if isText && strings.Trim(text, "0123456789") != "" {
		return 0, secondsError()
	}
	seconds, ok := toInteger(value)
	if !ok || seconds < 1 {
		return 0, secondsError()
	}
	return seconds, nil
}

func secondsError() *Error {
	return invalid("seconds", CodeInvalidValue, "seconds must be a whole number of seconds from 1, such as \"4\"")
}

// SecondsText is the length of frames at fps (frames a second) in seconds, as media tools print it: at most six decimals, rounded,
// without trailing zeros.
func SecondsText(frames, fps int) string {
	micros := (int64(frames)*2_000_000 + int64(fps)) / (2 * int64(fps))
	text := strconv.FormatInt(micros/1_000_000, 10) + "." + strconv.FormatInt(1_000_000+micros%1_000_000, 10)[1:]
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// lengthFields resolves fps, seconds and num_frames.
func (r *reading) lengthFields() {
	geometry := r.c.Geometry
	fps, hasFPS := r.takeInteger("fps", int64(geometry.FPSMin), int64(geometry.FPSMax))
	if !hasFPS {
		fps = int64(geometry.FPSDefault)
	}
	frames, hasFrames := r.takeInteger("num_frames", 1, framesExplicitMax)
	seconds, hasSeconds := r.seconds()
	switch {
	case r.err != nil:
		return
	case !hasFrames:
		frames = seconds * fps
	case hasSeconds && frames != seconds*fps:
		r.fail("num_frames", CodeInvalidValue, "num_frames %d and seconds %d at %d fps contradict each other; give one of them", frames, seconds, fps)
		return
	case !hasSeconds && (frames-1)%int64(geometry.FramesStep) != 0:
		r.fail("num_frames", CodeInvalidValue, "num_frames must be %dn+1, such as %d", geometry.FramesStep, geometry.FirstChunkFrames+4*geometry.ChunkFrames)
		return
	}
	param := "seconds"
	if hasFrames {
		param = "num_frames"
	}
	if frames > int64(geometry.FramesMax) || frames > int64(geometry.SecondsMax)*fps {
		r.fail(param, CodeInvalidValue, "%s: the video may have at most %d frames and %d seconds", param, geometry.FramesMax, geometry.SecondsMax)
		return
	}
	r.out.FPS, r.out.Frames = int(fps), int(frames)
	r.out.Seconds = SecondsText(r.out.Frames, r.out.FPS)
}

// seconds reads the field, or the contract's default.
func (r *reading) seconds() (seconds int64, given bool) {
	value, given := r.take("seconds")
	if !given {
		return int64(r.c.Geometry.SecondsDefault), false
	}
	seconds, err := ParseSeconds(value)
	if err != nil {
		r.failWith(err)
		return 0, true
	}
	if limit := int64(r.c.Geometry.SecondsMax); seconds > limit {
		r.fail("seconds", CodeInvalidValue, "seconds must be at most %d", limit)
	}
	return seconds, true
}
