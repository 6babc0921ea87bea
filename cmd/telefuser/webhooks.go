package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"telefuser/api"
	"telefuser/jobs"
)

// listedMax is how many rows one call of the store lists.
const listedMax = 100

func newWebhooksCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "webhooks", Short: "List webhook endpoints, look at their deliveries, send them again, and seal their secrets anew"}
	cmd.AddCommand(newWebhooksListCommand(), newWebhooksDeliveriesCommand(), newWebhooksReplayCommand(), newWebhooksResealCommand())
	return cmd
}

func newWebhooksListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List a tenant's webhook endpoints, never their secrets", Args: cobra.NoArgs}
	tenant := cmd.Flags().String("tenant", api.LocalTenant, "tenant whose endpoints are listed")
	withParts(cmd, func(ctx context.Context, p *parts, _ []string) error {
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tEVENTS\tSECRET\tCREATED\tDISABLED\tURL")
		q := jobs.ListQuery{Limit: listedMax}
		for more := true; more; {
			page, next, err := p.records.ListWebhooks(ctx, *tenant, q)
			if err != nil {
				return err
			}
			for _, h := range page {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", h.ID, h.Name, strings.Join(h.EventTypes, ","), h.Hint, stamp(h.CreatedAt), stamp(h.DisabledAt), h.URL)
				q.After = h.ID
			}
			more = next
		}
		return w.Flush()
	})
	return cmd
}

func newWebhooksDeliveriesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "deliveries ENDPOINT", Short: "Show what was sent to an endpoint, newest first", Args: cobra.ExactArgs(1),
		Long: "deliveries shows each event that an endpoint was to get in the last seven days: how often it was tried, what the receiver\nsaid to the last attempt, and when the next one is due."}
	tenant := cmd.Flags().String("tenant", api.LocalTenant, "tenant that the endpoint belongs to")
	limit := cmd.Flags().Int("limit", 20, "deliveries that are shown")
	withParts(cmd, func(ctx context.Context, p *parts, args []string) error {
		all, err := p.records.ListDeliveries(ctx, *tenant, args[0], *limit)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "EVENT\tTYPE\tSUBJECT\tSTATE\tATTEMPTS\tSTATUS\tREASON\tCREATED\tLAST\tNEXT")
		for _, d := range all {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n", d.EventID, d.Type, d.SubjectID, d.State, d.Attempts, d.Status, d.Reason, stamp(d.CreatedAt),
				stamp(d.AttemptedAt), stamp(d.DueAt))
		}
		return w.Flush()
	})
	return cmd
}

func newWebhooksReplayCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "replay ENDPOINT [EVENT]", Short: "Send an event again, or all that failed", Args: cobra.RangeArgs(1, 2),
		Long: "replay sends an event to an endpoint again, under its old id and with a whole new schedule. With --failed and no EVENT it does so\nfor each of the last 10000 that failed."}
	tenant := cmd.Flags().String("tenant", api.LocalTenant, "tenant that the endpoint belongs to")
	failed := cmd.Flags().Bool("failed", false, "send all that failed")
	withParts(cmd, func(ctx context.Context, p *parts, args []string) error {
		if (len(args) == 2) == *failed {
			return usageError{errors.New("want either an EVENT or --failed")}
		}
		events := args[1:]
		if *failed {
			const lookedAtMax = 10_000
			all, err := p.records.ListDeliveries(ctx, *tenant, args[0], lookedAtMax)
			if err != nil {
				return err
			}
			for _, d := range all {
				if d.State == jobs.DeliveryFailed {
					events = append(events, d.EventID)
				}
			}
		}
		for _, event := range events {
			if err := p.records.ReplayDelivery(ctx, *tenant, args[0], event); err != nil {
				return err
			}
		}
		fmt.Fprintln(cmd.OutOrStdout(), "sent again:", len(events))
		return nil
	})
	return cmd
}

func newWebhooksResealCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "reseal", Short: "Seal every signing secret with the first key of webhooks.secret_keys", Args: cobra.NoArgs,
		Long: "reseal puts the signing secrets of all tenants under the first key: those that lie in Redis as they are, and those under an older key,\n" +
			"which may be taken out of webhooks.secret_keys afterwards. It may run beside a service, and again."}
	withParts(cmd, func(ctx context.Context, p *parts, _ []string) error {
		if len(p.cfg.Webhooks.SecretKeys) == 0 {
			return usageError{errors.New("webhooks.secret_keys has no key")}
		}
		resealed, foreign, err := p.records.ResealWebhooks(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), "sealed:", resealed)
		if foreign > 0 {
			return fmt.Errorf("%d secrets are under a key that is not in webhooks.secret_keys: add it, or rotate these secrets", foreign)
		}
		return nil
	})
	return cmd
}

// stamp is a time as people read it; a dash for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
