package webhooks_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"telefuser/internal/outbound"
	"telefuser/jobs"
	"telefuser/webhooks"
)

func TestWhatFollowsFromAnAttempt(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const pause = 5 * time.Minute
	near := func(d, want time.Duration) bool { return d >= want-want/10 && d <= want+want/10 }
	for name, c := range map[string]struct {
		attempts int
		answer   outbound.Answer
		err      error
		want     jobs.Settlement
	}{
		"200":                {2, outbound.Answer{Status: 200}, nil, jobs.Settlement{Delivered: true, Status: 200}},
		"204":                {10, outbound.Answer{Status: 204}, nil, jobs.Settlement{Delivered: true, Status: 204}},
		"301":                {2, outbound.Answer{Status: 301}, nil, jobs.Settlement{Next: pause, Status: 301, Reason: "redirect"}},
		"400":                {2, outbound.Answer{Status: 400}, nil, jobs.Settlement{Next: pause, Status: 400, Reason: "status"}},
		"404 at the end":     {10, outbound.Answer{Status: 404}, nil, jobs.Settlement{Failed: true, Status: 404, Reason: "status"}},
		"410":                {2, outbound.Answer{Status: 410}, nil, jobs.Settlement{Disable: true, Status: 410, Reason: "gone"}},
		"429":                {2, outbound.Answer{Status: 429}, nil, jobs.Settlement{Next: pause, Pause: 10 * time.Second, Status: 429, Reason: "status"}},
		"429 for an hour":    {2, outbound.Answer{Status: 429, RetryAfter: "3600"}, nil, jobs.Settlement{Next: time.Hour, Pause: time.Hour, Status: 429, Reason: "status"}},
		"502":                {2, outbound.Answer{Status: 502}, nil, jobs.Settlement{Next: pause, Pause: 10 * time.Second, Status: 502, Reason: "status"}},
		"504 until a time":   {2, outbound.Answer{Status: 504, RetryAfter: now.Add(time.Hour).Format(http.TimeFormat)}, nil, jobs.Settlement{Next: time.Hour, Pause: time.Hour, Status: 504, Reason: "status"}},
		"503 for an hour":    {2, outbound.Answer{Status: 503, RetryAfter: "3600"}, nil, jobs.Settlement{Next: time.Hour, Status: 503, Reason: "status"}},
		"500":                {2, outbound.Answer{Status: 500}, nil, jobs.Settlement{Next: pause, Status: 500, Reason: "status"}},
		"too long a wait":    {2, outbound.Answer{Status: 503, RetryAfter: "1e30"}, nil, jobs.Settlement{Next: 24 * time.Hour, Status: 503, Reason: "status"}},
		"a wait of nonsense": {2, outbound.Answer{Status: 503, RetryAfter: "NaN"}, nil, jobs.Settlement{Next: pause, Status: 503, Reason: "status"}},
		"a wait in the past": {2, outbound.Answer{Status: 503, RetryAfter: "-5"}, nil, jobs.Settlement{Next: pause, Status: 503, Reason: "status"}},
		"unreachable":        {2, outbound.Answer{}, outbound.ErrUnreachable, jobs.Settlement{Next: pause, Reason: "unreachable"}},
		"a bad address":      {2, outbound.Answer{}, outbound.ErrURL, jobs.Settlement{Next: pause, Reason: "address"}},
		"anything":           {10, outbound.Answer{}, errors.New("x"), jobs.Settlement{Failed: true, Reason: "internal"}},
	} {
		got := webhooks.Judge(c.attempts, c.answer, c.err, now)
		if !near(got.Next, c.want.Next) {
			t.Errorf("%s: next after %s, want %s", name, got.Next, c.want.Next)
		}
		got.Next, c.want.RestMax = c.want.Next, time.Minute
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestTheScheduleIsThatOfTheSpecification has ten attempts in about 75 hours.
func TestTheScheduleIsThatOfTheSpecification(t *testing.T) {
	var total time.Duration
	for _, pause := range webhooks.Schedule() {
		total += pause
	}
	if len(webhooks.Schedule()) != 10 || total.Round(time.Hour) != 76*time.Hour {
		t.Errorf("%d attempts in %s", len(webhooks.Schedule()), total)
	}
}

// TestTheLibrarySignsAsTheSpecificationSays has the vector of the specification's own tests, signed by hand.
func TestTheLibrarySignsAsTheSpecificationSays(t *testing.T) {
	const secret, id, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`
	at := time.Unix(1614265330, 0)
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	got, err := signer.Sign(id, at, []byte(body))
	if want := "v1," + handMade(t, secret, id+".1614265330."+body); err != nil || got != want {
		t.Errorf("%s, want %s (%v)", got, want, err)
	}
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestALongMessageStaysShort(t *testing.T) {
	d := jobs.Delivery{EventID: "evt_1", Type: jobs.EventVideoFailed, SubjectID: "video_1", Failure: &jobs.Failure{Code: "c", Message: strings.Repeat("猫", 10_000)}}
	body, err := webhooks.Payload(d)
	if err != nil || len(body) >= 20_000 || !strings.Contains(string(body), `"code":"c"`) {
		t.Errorf("%d bytes, %v", len(body), err)
	}
}

// handMade is the signature without a library.
func handMade(t *testing.T, secret, text string) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
