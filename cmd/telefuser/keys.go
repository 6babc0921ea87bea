package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

func newKeysCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Create, list and revoke API keys"}
	cmd.AddCommand(newKeysCreateCommand(), newKeysListCommand(), newKeysRevokeCommand())
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
	withParts(cmd, func(ctx context.Context, p *parts, _ []string) error {
		secret, info, err := p.records.CreateKey(ctx, *tenant, *name)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "key %s of tenant %s:\n", info.ID, info.Tenant)
		fmt.Fprintln(cmd.OutOrStdout(), secret)
		return nil
	})
	return cmd
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
		fmt.Fprintln(w, "ID\tTENANT\tNAME\tHINT\tCREATED")
		for _, k := range keys {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.ID, k.Tenant, k.Name, k.Hint, k.CreatedAt.UTC().Format(time.RFC3339))
		}
		return w.Flush()
	})
	return cmd
}

func newKeysRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "revoke ID", Short: "Revoke a key; it stops working within 5 seconds", Args: cobra.ExactArgs(1)}
	withParts(cmd, func(ctx context.Context, p *parts, args []string) error {
		return p.records.RevokeKey(ctx, args[0])
	})
	return cmd
}
