package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprint(cmd.OutOrStdout(), versionLine())
		},
	}
}

// versionLine is the answer of version and --version.
func versionLine() string {
	return fmt.Sprintf("telefuser %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
