package streaming

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"unicode/utf8"
)

// ControlBytesMax bounds one control message.
const ControlBytesMax = 12 << 10

// The bounds of what a control message carries.
const (
	controlIDBytesMax = 64
	posesMax          = 64
	positionMax       = 1e6
)

// The types of control messages.
const (
	TypeControlState = "control_state"
	TypeControl      = "control"
	TypePrompt       = "prompt"
	TypeReset        = "reset"
	TypeStop         = "stop"
	TypeDeliveryAck  = "delivery_ack"
)

// The events of a control message.
const (
	EventPress     = "press"
	EventRelease   = "release"
	EventClear     = "clear"
	EventResetPose = "reset_pose"
	EventPose      = "pose"
	EventPath      = "path"
)

// The codes with which a control message is refused.
const (
	CodeTooLarge     = "too_large"
	CodeBadJSON      = "bad_json"
	CodeBadVersion   = "bad_version"
	CodeWrongSession = "wrong_session"
	CodeUnknownType  = "unknown_type"
	CodeUnknownKey   = "unknown_key"
	CodeDuplicateKey = "duplicate_key"
	CodeBadField     = "bad_field"
	CodeRateLimited  = "rate_limited"
	CodeUnsupported  = "unsupported"
	CodeEarlyAck     = "early_ack"
	CodeEnding       = "ending"
)

// Message is one control message, checked.
type Message struct {
	// ID is the sender's name for it, "" when it gave none.
	ID string
	// Type is one of the Type constants.
	Type string
	// Event says what a TypeControl does: one of the Event constants.
	Event string
	// Keys are the held keys of a TypeControlState, or the one key of a press or release, of "wasdijkl".
	Keys string
	// Prompt is the text of a TypePrompt, Pose where an EventPose puts the camera, Path what an EventPath leads it through.
	Prompt string
	Pose   Pose
	Path   []Pose
	// PublishedFrames is what a TypeDeliveryAck counted.
	PublishedFrames int64
}

// Refusal says why a control message is not obeyed. It goes to the sender.
type Refusal struct { //nolint:errname // it is an answer first, and an error on the way to it
	// ID is the message's, where it could be read.
	ID string
	// Code is one of the Code constants; Message is a sentence for people.
	Code    string
	Message string
}

// Error is the refusal as a sentence with its code.
func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// envelope is a message as it travels, flat or with its fields in a payload.
type envelope struct {
	Version   *int            `json:"version"`
	SessionID *string         `json:"session_id"`
	Type      *string         `json:"type"`
	ID        *string         `json:"id"`
	ControlID *string         `json:"control_id"`
	Payload   json.RawMessage `json:"payload"`
	body
}

// body are the fields of all the types.
type body struct {
	Controls        *[]string       `json:"controls"`
	Control         *string         `json:"control"`
	Direction       *string         `json:"direction"`
	Key             *string         `json:"key"`
	Event           *string         `json:"event"`
	Action          *string         `json:"action"`
	Pose            *Pose           `json:"pose"`
	Poses           json.RawMessage `json:"poses"`
	ControlTensor   json.RawMessage `json:"control_tensor"`
	Prompt          *string         `json:"prompt"`
	PublishedFrames *json.Number    `json:"published_frames"`
}

// ParseMessage reads a control message of a session. Its error is a *Refusal.
func ParseMessage(payload []byte, sessionID string) (Message, error) {
	if len(payload) > ControlBytesMax {
		return Message{}, &Refusal{Code: CodeTooLarge, Message: fmt.Sprintf("A control message has at most %d bytes.", ControlBytesMax)}
	}
	var e envelope
	if !utf8.Valid(payload) || !decodeWhole(payload, &e) {
		return Message{}, &Refusal{Code: CodeBadJSON, Message: "A control message is one JSON object with fields of the documented kinds."}
	}
	m := Message{ID: first(e.ID, e.ControlID), Type: first(e.Type)}
	refuse := func(code, text string) (Message, error) {
		return Message{}, &Refusal{ID: m.ID, Code: code, Message: text}
	}
	switch {
	case len(m.ID) > controlIDBytesMax:
		m.ID = ""
		return refuse(CodeBadField, fmt.Sprintf("id has at most %d bytes.", controlIDBytesMax))
	case e.Version != nil && *e.Version != 1:
		return refuse(CodeBadVersion, "The only version is 1.")
	case e.SessionID != nil && *e.SessionID != sessionID:
		return refuse(CodeWrongSession, "session_id names another session.")
	}
	b := e.body
	if len(e.Payload) > 0 && string(e.Payload) != "null" {
		b = body{}
		inner := struct {
			ID *string `json:"id"`
			*body
		}{body: &b}
		if !decodeWhole(e.Payload, &inner) {
			return refuse(CodeBadJSON, "payload is one JSON object with fields of the documented kinds.")
		}
		if m.ID == "" && inner.ID != nil && len(*inner.ID) <= controlIDBytesMax {
			m.ID = *inner.ID
		}
	}
	if r := m.fill(b); r != nil {
		r.ID = m.ID
		return Message{}, r
	}
	return m, nil
}

// decodeWhole reads exactly one JSON object.
func decodeWhole(data []byte, into any) bool {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if d.Decode(into) != nil {
		return false
	}
	_, err := d.Token()
	return err == io.EOF
}

// first is the first text that is there.
func first(texts ...*string) string {
	for _, t := range texts {
		if t != nil {
			return *t
		}
	}
	return ""
}

// fill reads the fields of the message's type.
func (m *Message) fill(b body) *Refusal {
	switch m.Type {
	case TypeControlState:
		if b.Controls == nil {
			return &Refusal{Code: CodeBadField, Message: "control_state needs controls, the list of held keys."}
		}
		return m.fillKeys(*b.Controls)
	case TypeControl:
		return m.fillControl(b)
	case TypePrompt:
		if b.Prompt == nil || *b.Prompt == "" {
			return &Refusal{Code: CodeBadField, Message: "prompt needs a prompt that is not empty."}
		}
		m.Prompt = *b.Prompt
	case TypeReset, TypeStop:
	case TypeDeliveryAck:
		if b.PublishedFrames == nil {
			return &Refusal{Code: CodeBadField, Message: "delivery_ack needs published_frames."}
		}
		n, err := b.PublishedFrames.Int64()
		if err != nil || n < 0 {
			return &Refusal{Code: CodeBadField, Message: "published_frames is a whole number from 0."}
		}
		m.PublishedFrames = n
	default:
		return &Refusal{Code: CodeUnknownType, Message: "type is control_state, control, prompt, reset, stop or delivery_ack."}
	}
	return nil
}

// finite says whether a pose can be meant.
func (p Pose) finite() bool {
	for _, v := range []float64{p.X, p.Y, p.Z, p.Yaw, p.Pitch} {
		if math.IsNaN(v) || math.Abs(v) > positionMax {
			return false
		}
	}
	return true
}
