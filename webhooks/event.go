package webhooks

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"telefuser/jobs"
)

// event is what is sent: OpenAI's shape, and beside the id of a video that failed why it did.
type event struct {
	ID        string  `json:"id"`
	Object    string  `json:"object"`
	CreatedAt int64   `json:"created_at"`
	Type      string  `json:"type"`
	Data      subject `json:"data"`
}

type subject struct {
	ID    string   `json:"id"`
	Error *problem `json:"error,omitempty"`
}

type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// payloadBytesMax is what Standard Webhooks wants a payload to stay below.
const payloadBytesMax = 20_000

// payload is the body of a delivery, byte for byte the same in every attempt.
func payload(d jobs.Delivery) ([]byte, error) {
	e := event{ID: d.EventID, Object: "event", CreatedAt: d.CreatedAt.Unix(), Type: d.Type, Data: subject{ID: d.SubjectID}}
	if d.Failure != nil {
		e.Data.Error = &problem{Code: d.Failure.Code, Message: d.Failure.Message}
	}
	body, err := json.Marshal(e)
	if err == nil && len(body) >= payloadBytesMax {
		e.Data.Error.Message = ""
		body, err = json.Marshal(e)
	}
	if err != nil {
		return nil, fmt.Errorf("webhooks: payload of %s: %w", d.EventID, err)
	}
	return body, nil
}

// sampleSuffix ends the id of a subject that is nobody's.
const sampleSuffix = "_00000000000000000000000000"

// sample is an event of a type that never happened, for tests of receivers. Its subject is no video and no batch of anybody's.
func sample(kind string, now time.Time) jobs.Delivery {
	object, _, _ := strings.Cut(kind, ".")
	d := jobs.Delivery{EventID: jobs.NewEventID(now), Type: kind, SubjectID: object + sampleSuffix, CreatedAt: now}
	if kind == jobs.EventVideoFailed {
		d.Failure = &jobs.Failure{Code: jobs.CodeInternal, Message: "This is a test."}
	}
	return d
}
