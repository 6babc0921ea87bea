package jobs

import (
	"context"
	"errors"
	"strings"
)

// Seals counts the secrets of webhooks by how they lie in Redis.
type Seals struct {
	// Current are sealed with the first key, Older with another one of this process, Plain not at all, and Foreign with a key that this process does not have.
	Current, Older, Plain, Foreign int
}

// resealBatch is how many keys of Redis one call of SCAN looks at.
const resealBatch = 1000

// WebhookSeals looks at every webhook's secrets. It walks over all keys, so it is for operators.
func (s *Store) WebhookSeals(ctx context.Context) (Seals, error) {
	var all Seals
	err := s.eachSecret(ctx, func(webhook, _, text string) error {
		_, err := s.seals.open(text, webhook)
		switch {
		case errors.Is(err, ErrSealed):
			all.Foreign++
		case !strings.HasPrefix(text, sealedPrefix):
			all.Plain++
		case s.seals.current(text):
			all.Current++
		default:
			all.Older++
		}
		return err
	})
	return all, err
}

// ResealWebhooks seals with the first key what is not, and answers how many secrets it did so with and how many it could not open. A secret that is rotated meanwhile keeps its new value.
func (s *Store) ResealWebhooks(ctx context.Context) (resealed, foreign int, err error) {
	err = s.eachSecret(ctx, func(webhook, field, text string) error {
		if s.seals.current(text) {
			return nil
		}
		changed, err := s.reseal(ctx, webhook, field, text)
		switch {
		case errors.Is(err, ErrSealed):
			foreign++
		case changed:
			resealed++
		}
		return err
	})
	return resealed, foreign, err
}

// reseal puts a secret under the first key, unless it has changed.
func (s *Store) reseal(ctx context.Context, webhook, field, text string) (changed bool, err error) {
	secret, err := s.seals.open(text, webhook)
	if err != nil {
		return false, err
	}
	answer, err := s.evalWord(ctx, "hook_reseal", webhook, field, text, s.seals.seal(secret, webhook))
	return answer == "ok", err
}

// eachSecret gives every secret, an old one that still signs included. ErrSealed of do is no reason to stop.
func (s *Store) eachSecret(ctx context.Context, do func(webhook, field, text string) error) error {
	prefix := s.key("hs:")
	scan := s.rdb.Scan(ctx, 0, prefix+"*", resealBatch).Iterator()
	for scan.Next(ctx) {
		secrets, err := s.rdb.HMGet(ctx, scan.Val(), "sec", "old").Result()
		if err != nil {
			return unavailable("secrets", err)
		}
		for i, field := range []string{"sec", "old"} {
			text, _ := secrets[i].(string)
			if text == "" {
				continue
			}
			if err := do(strings.TrimPrefix(scan.Val(), prefix), field, text); err != nil && !errors.Is(err, ErrSealed) {
				return err
			}
		}
	}
	if err := scan.Err(); err != nil {
		return unavailable("secrets", err)
	}
	return nil
}
