package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"telefuser/api"
	"telefuser/jobs"
	"telefuser/workers"
)

func newJobsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "jobs", Short: "List, cancel, delete and rebuild jobs"}
	cmd.AddCommand(newJobsListCommand(), newJobsCancelCommand(), newJobsDeleteCommand(), newJobsRebuildCommand())
	return cmd
}

func newJobsListCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List a tenant's jobs, newest first", Args: cobra.NoArgs}
	tenant := cmd.Flags().String("tenant", api.LocalTenant, "tenant whose jobs are listed")
	after := cmd.Flags().String("after", "", "id after which the page begins")
	limit := cmd.Flags().Int("limit", 20, "jobs on the page, at most 100")
	withParts(cmd, func(ctx context.Context, p *parts, _ []string) error {
		page, more, err := p.records.List(ctx, *tenant, jobs.ListQuery{After: *after, Limit: *limit, Descending: true})
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tSTATE\tATTEMPT\tPROGRESS\tPIPELINE\tSIZE\tSECONDS\tCREATED\tERROR")
		for _, j := range page {
			code := ""
			if j.Failure != nil {
				code = j.Failure.Code
			}
			fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%dx%d\t%s\t%s\t%s\n", j.ID, j.State, j.Attempt, j.Progress, j.Spec.Pipeline,
				j.Spec.Width, j.Spec.Height, j.Spec.Seconds, j.CreatedAt.UTC().Format(time.RFC3339), code)
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

func newJobsCancelCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "cancel ID", Short: "End a job as failed with the code cancelled", Args: cobra.ExactArgs(1)}
	tenant := cmd.Flags().String("tenant", api.LocalTenant, "tenant that the job belongs to")
	withParts(cmd, func(ctx context.Context, p *parts, args []string) error {
		j, err := p.records.Cancel(ctx, *tenant, args[0])
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), j.ID, j.State)
		return nil
	})
	return cmd
}

func newJobsDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "delete ID", Short: "Delete a job with everything that it made", Args: cobra.ExactArgs(1)}
	tenant := cmd.Flags().String("tenant", api.LocalTenant, "tenant that the job belongs to")
	withParts(cmd, func(ctx context.Context, p *parts, args []string) error {
		_, err := p.records.Delete(ctx, *tenant, args[0])
		return err
	})
	return cmd
}

func newJobsRebuildCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Bring back the records of completed videos from the object store",
		Long: "rebuild reads the manifest beside every artifact and makes the record of each completed video that has none:\n" +
			"what to do after Redis lost its data. Servers that noticed the loss are ready again afterwards. Running it again changes nothing.",
		Args: cobra.NoArgs,
	}
	withParts(cmd, func(ctx context.Context, p *parts, _ []string) error {
		r, err := workers.Rebuild(ctx, p.records, p.objects)
		if err != nil {
			return err
		}
		if err := p.records.MarkRebuilt(ctx); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "restored %d, already there %d, unusable %d\n", r.Restored, r.Present, r.Skipped)
		return nil
	})
	return cmd
}
