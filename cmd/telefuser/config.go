package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"telefuser/internal/config"
)

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the effective settings, secrets masked",
		Args:  cobra.NoArgs,
	}
	load := settings(cmd, config.Default())
	markdown := cmd.Flags().Bool("markdown", false, "print the table of docs/configuration.md instead")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *markdown {
			fmt.Fprint(cmd.OutOrStdout(), config.Markdown())
			return nil
		}
		c, err := load()
		if err != nil {
			return err
		}
		for _, f := range config.Fields() {
			fmt.Fprintf(cmd.OutOrStdout(), "%-28s %s\n", f.Key, f.Value(c))
		}
		return nil
	}
	return cmd
}
