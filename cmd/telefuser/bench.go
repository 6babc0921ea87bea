package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"telefuser/internal/bench"
)

// benchBody is the video that benchmarks create: a prompt of ordinary length and every usual field.
const benchBody = `{"model":"terrain","prompt":"a green valley between snowy mountains in the evening light, slow flight along a river",` +
	`"seconds":"4","size":"832x480","seed":7}`

func newBenchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a server: load, overload, a long run under faults, backlog, dispatch, videos, memory, start, live sessions, streams that are encoded beforehand; or the kernels of a GPU",
		Long: "bench measures this program as docs/benchmarks.md records it. Load is open: requests are sent at fixed times, and latencies count from\n" +
			"those, so waiting behind a stall is charged to the server. The servers that it starts are children of this process, in a temporary\n" +
			"directory: a redis-server that syncs its AOF every second, and this very program.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBenchAPICommand(), newBenchBacklogCommand(), newBenchDispatchCommand(), newBenchVideoCommand(), newBenchMemoryCommand(), newBenchOverloadCommand(), newBenchSoakCommand(),
		newBenchStartCommand(), newBenchSessionsCommand(), newBenchRelayCommand(), newBenchReplayCommand(), newBenchKernelsCommand())
	return cmd
}

// benchFlags are those of every measurement.
type benchFlags struct {
	json      bool
	dir       string
	debugAddr string
}

func (f *benchFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON in place of a table")
	cmd.Flags().StringVar(&f.dir, "dir", "", "directory for what the started servers keep; empty means the system's temporary one")
	cmd.Flags().StringVar(&f.debugAddr, "debug-addr", "", "loopback address at which the started API serves profiles")
}

// report prints a result as JSON, or the text for people.
func (f *benchFlags) report(w io.Writer, result any, text string) error {
	if f.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(result)
	}
	_, err := fmt.Fprintf(w, "%s\n%s", bench.ReadMachine(), text)
	return err
}
