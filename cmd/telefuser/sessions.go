package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"telefuser/api"
	"telefuser/streaming"
)

func newSessionsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "List and end live sessions"}
	cmd.AddCommand(newSessionsListCommand(), newSessionsEndCommand())
	return cmd
}

func newSessionsListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List live sessions, newest first", Args: cobra.NoArgs}
	tenant := cmd.Flags().String("tenant", "", "tenant whose sessions are listed; empty lists all")
	after := cmd.Flags().String("after", "", "id after which the page begins")
	limit := cmd.Flags().Int("limit", 20, "sessions on the page, at most 100")
	withParts(cmd, func(ctx context.Context, p *parts, _ []string) error {
		sessions, err := openSessions(p)
		if err != nil {
			return err
		}
		page, more, err := sessions.List(ctx, streaming.ListRequest{Tenant: *tenant, After: *after, Limit: *limit})
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tTENANT\tSTATUS\tPIPELINE\tSIZE\tWORKER\tCLIENTS\tFRAMES\tCREATED\tREASON")
		for _, s := range page {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%dx%d\t%s\t%s\t%d\t%s\t%s\n", s.ID, s.Tenant, s.Status, s.Spec.Pipeline, s.Spec.Width, s.Spec.Height, orDash(s.Worker),
				clients(s.Participants), s.Facts.PublishedFrames, s.CreatedAt.UTC().Format(time.RFC3339), orDash(s.Reason))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if more {
			fmt.Fprintf(cmd.ErrOrStderr(), "more with --after %s\n", page[len(page)-1].ID)
		}
		return nil
	})
	return cmd
}

// clients is how many are in the room, where it is known.
func clients(n *int) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func newSessionsEndCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "end ID", Short: "End a live session; ending it again changes nothing", Args: cobra.ExactArgs(1)}
	tenant := cmd.Flags().String("tenant", api.LocalTenant, "tenant that the session belongs to")
	withParts(cmd, func(ctx context.Context, p *parts, args []string) error {
		sessions, err := openSessions(p)
		if err != nil {
			return err
		}
		s, err := sessions.End(ctx, *tenant, args[0], streaming.ReasonDeleted)
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), s.ID, s.Status)
		return nil
	})
	return cmd
}
