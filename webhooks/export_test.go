package webhooks

import (
	"time"

	"telefuser/internal/outbound"
	"telefuser/jobs"
)

// Judge is judge with the standard schedule.
func Judge(attempts int, answer outbound.Answer, err error, now time.Time) jobs.Settlement {
	return Config{}.withDefaults().judge(attempts, answer, err, now)
}

// Schedule is the standard one.
func Schedule() []time.Duration { return schedule() }

// Payload is the body of a delivery.
func Payload(d jobs.Delivery) ([]byte, error) { return payload(d) }
