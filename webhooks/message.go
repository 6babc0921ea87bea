package webhooks

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"telefuser/internal/outbound"
	"telefuser/jobs"
)

// message is a delivery, signed at a time by each of the secrets.
func message(d jobs.Delivery, url string, schemes []string, secrets []jobs.Secret, now time.Time) (outbound.Message, error) {
	body, err := payload(d)
	if err != nil {
		return outbound.Message{}, err
	}
	var signatures []string
	for _, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(secret.Reveal())
		if err != nil {
			return outbound.Message{}, fmt.Errorf("webhooks: the secret of %s cannot be read", d.WebhookID) // the error's own text is about the secret
		}
		signature, err := signer.Sign(d.EventID, now, body)
		if err != nil {
			return outbound.Message{}, fmt.Errorf("webhooks: sign for %s: %w", d.WebhookID, err)
		}
		signatures = append(signatures, signature)
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set(standardwebhooks.HeaderWebhookID, d.EventID)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return outbound.Message{URL: url, Schemes: schemes, Header: header, Body: body}, nil
}
