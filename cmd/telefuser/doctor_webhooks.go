package main

import (
	"context"
	"log/slog"

	"telefuser/jobs"
)

// checkWebhooks looks at how the signing secrets lie in Redis. A Redis that is away is checkRedis's to say.
func checkWebhooks(ctx context.Context, p *patient) {
	const check, say = "webhooks.secrets", "add its key to webhooks.secret_keys, or rotate the secrets"
	client, err := jobs.Connect(ctx, redisConfig(p.cfg.Redis))
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		p.say(check, verdictSkip, "", "Redis does not answer")
		return
	}
	c, err := jobsConfig(p.cfg)
	if err != nil {
		p.fail(check, "correct webhooks.secret_keys", "%v", err)
		return
	}
	records, err := jobs.New(c, client, slog.New(slog.DiscardHandler))
	if err != nil {
		p.fail(check, "correct the settings of redis and webhooks", "%v", err)
		return
	}
	defer records.Close()
	seals, err := records.WebhookSeals(ctx)
	switch {
	case err != nil:
		p.fail(check, "give this Redis user the command SCAN", "%v", err)
	case seals.Foreign > 0:
		p.fail(check, say, "%d are sealed with a key that is not in the settings: their webhooks are not sent from here", seals.Foreign)
	case len(c.SecretKeys) == 0:
		p.note(check, "set webhooks.secret_keys_file", "no key: %d secrets lie in Redis as they are, and so will new ones", seals.Plain)
	case seals.Plain+seals.Older > 0:
		p.note(check, "run telefuser webhooks reseal", "%d are not sealed, %d under an older key", seals.Plain, seals.Older)
	default:
		p.ok(check, "%d, all sealed with the first key", seals.Current)
	}
}
