package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"telefuser/jobs"
)

func newKeysCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Create, list, limit and revoke API keys"}
	cmd.AddCommand(newKeysCreateCommand(), newKeysSetCommand(), newKeysListCommand(), newKeysRevokeCommand())
	return cmd
}

func newKeysCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a key and print it, this once",
		Long: "create makes a key and, unless one is named, a tenant of its own for it, which sees nothing of the others.\n" +
			"Only the key's hash is kept: what is printed now is never shown again.",
		Args: cobra.NoArgs,
	}
	tenant := cmd.Flags().String("tenant", "", "tenant that the key belongs to; keys of one tenant see the same videos, and empty makes a new one")
	name := cmd.Flags().String("name", "", "name to know the key by")
	limits := limitFlags(cmd)
	withParts(cmd, func(ctx context.Context, p *parts, _ []string) error {
		secret, info, err := p.records.CreateKey(ctx, *tenant, *name)
		if err != nil {
			return err
		}
		if err := p.records.SetQuota(ctx, info.ID, limits()); err != nil {
			_ = p.records.RevokeKey(ctx, info.ID) // nobody has seen it
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "key %s of tenant %s:\n", info.ID, info.Tenant)
		fmt.Fprintln(cmd.OutOrStdout(), secret)
		return nil
	})
	return cmd
}

func newKeysSetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "set ID",
		Short: "Change the limits of a key",
		Long: "set changes the limits that are named and leaves the others alone; every process knows within 5 seconds.\n" +
			"Waiting, running, stored bytes and sessions are counted over all keys of a tenant, so give its keys the same limits.",
		Args: cobra.ExactArgs(1),
	}
	limits := limitFlags(cmd)
	withParts(cmd, func(ctx context.Context, p *parts, args []string) error {
		return p.records.SetQuota(ctx, args[0], limits())
	})
	return cmd
}

// limitFlags adds a flag for every limit; the returned function gives those that were set.
func limitFlags(cmd *cobra.Command) func() map[string]int64 {
	says := map[string]string{
		"creates-per-minute":         "creates in a minute",
		"queued":                     "jobs that may wait",
		"running":                    "jobs that may run at a time; more wait",
		"megapixel-seconds-per-hour": "work that may be asked for in an hour: width x height x seconds / 1000000",
		"stored-bytes":               "bytes of files and videos at which more are refused",
		"sessions":                   "live sessions at a time; 0 leaves it to the server's limit",
	}
	values := map[string]*int64{}
	for _, name := range jobs.QuotaNames() {
		values[name] = cmd.Flags().Int64("max-"+name, jobs.QuotaDefault, says[name]+"; 0 sets no limit, -1 takes the configuration's")
	}
	return func() map[string]int64 {
		set := map[string]int64{}
		for name, value := range values {
			if cmd.Flags().Changed("max-" + name) {
				set[name] = *value
			}
		}
		return set
	}
}

func newKeysListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the keys, never their secrets", Args: cobra.NoArgs}
	tenant := cmd.Flags().String("tenant", "", "tenant whose keys are listed; empty lists all")
	withParts(cmd, func(ctx context.Context, p *parts, _ []string) error {
		keys, err := p.records.ListKeys(ctx, *tenant)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tTENANT\tNAME\tHINT\tCREATED\tLIMITS")
		for _, k := range keys {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.Tenant, k.Name, k.Hint, k.CreatedAt.UTC().Format(time.RFC3339), limitsText(k.Limits))
		}
		return w.Flush()
	})
	return cmd
}

// limitsText is a key's own limits in their order.
func limitsText(limits map[string]int64) string {
	var parts []string
	for _, name := range jobs.QuotaNames() {
		if limit, own := limits[name]; own {
			parts = append(parts, fmt.Sprintf("%s=%d", name, limit))
		}
	}
	return strings.Join(parts, " ")
}

func newKeysRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "revoke ID", Short: "Revoke a key; it stops working within 5 seconds", Args: cobra.ExactArgs(1)}
	withParts(cmd, func(ctx context.Context, p *parts, args []string) error {
		return p.records.RevokeKey(ctx, args[0])
	})
	return cmd
}
