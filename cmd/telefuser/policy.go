package main

import (
	"context"
	"log/slog"
	"time"
)

// policyRetryEvery is the pause between two looks at the settings of a Redis that does not answer.
const policyRetryEvery = 5 * time.Second

// policyChecker is the part of the records that looks at the settings of Redis.
type policyChecker interface {
	CheckPolicy(ctx context.Context) (warnings []string, err error)
}

// warnPolicy says once, as soon as Redis answers, which of its settings do not keep the promises of the jobs.
func warnPolicy(ctx context.Context, records policyChecker, log *slog.Logger) {
	retry := time.NewTicker(policyRetryEvery)
	defer retry.Stop()
	for {
		warnings, err := records.CheckPolicy(ctx)
		if err == nil {
			for _, warning := range warnings {
				log.WarnContext(ctx, "redis is set up so that jobs can be lost", "warning", warning)
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-retry.C:
		}
	}
}
