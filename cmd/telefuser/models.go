package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"telefuser/workers/models/umt5"
	"telefuser/workers/models/weights"
)

// linesMax is how many problems of a part the table shows; JSON has all.
const linesMax = 20

func newModelsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "models", Short: "Check the weights of models"}
	cmd.AddCommand(newModelsVerifyCommand())
	return cmd
}

func newModelsVerifyCommand() *cobra.Command {
	var asJSON bool
	var checks weights.Checks
	cmd := &cobra.Command{
		Use:   "verify DIR",
		Short: "Say exactly what is missing or wrong in a model's folder; exit code 1 when something is",
		Long: "verify finds the parts of a model in its folder, original or converted to diffusers' layout, and holds the names, types and shapes\n" +
			"of all tensors to the model's configuration. Only headers are read. With --deep every byte is: values have to be finite, and\n" +
			"where there is a SHA256SUMS the files have to be those. It needs no GPU. docs/models.md says which trees are known.",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON in place of a table")
	cmd.Flags().BoolVar(&checks.Deep, "deep", false, "read every byte: finite values, and the digests of SHA256SUMS")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		checks.Tokenizer = func(dir string) error { _, err := umt5.OpenTokenizer(dir); return err }
		v, err := weights.Verify(cmd.Context(), args[0], checks)
		if err != nil {
			return err
		}
		if err := printVerdict(cmd.OutOrStdout(), v, asJSON); err != nil {
			return err
		}
		if !v.OK {
			return fmt.Errorf("the model in %s cannot run", args[0])
		}
		return nil
	}
	return cmd
}

func printVerdict(w io.Writer, v weights.Verdict, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PART\tSTATE\tTENSORS\tPARAMETERS\tBYTES\tLAYOUT\tPATH")
	for _, p := range v.Parts {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", p.Part, state(p.OK), p.Tensors, p.Parameters, p.Bytes, p.Layout, p.Path)
	}
	for _, d := range v.Digests {
		fmt.Fprintf(t, "digest\t%s\t\t\t\t\t%s\n", state(d.OK), d.Path)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, p := range v.Parts {
		printProblems(w, string(p.Part), p.Problems)
	}
	for _, d := range v.Digests {
		if !d.OK {
			printProblems(w, d.Path, []string{d.Problem})
		}
	}
	return nil
}

func printProblems(w io.Writer, of string, problems []string) {
	for i, line := range problems {
		if i == linesMax {
			fmt.Fprintf(w, "%s: and %d more; --json has all\n", of, len(problems)-linesMax)
			return
		}
		fmt.Fprintf(w, "%s: %s\n", of, line)
	}
}

func state(ok bool) string {
	if ok {
		return "ok"
	}
	return "WRONG"
}
