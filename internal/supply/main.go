// Command supply lists what the program is made of: `go run ./internal/supply licences` prints docs/licences.md, `go run ./internal/supply sbom BINARY` a CycloneDX document of a built
// program, `go run ./internal/supply vulndb SOURCE OUT` writes the database of vulnerabilities that the source of golang.org/x/vulndb holds. It asks the go command and the modules' own files, and no network.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "supply:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	switch {
	case len(args) == 1 && args[0] == "licences":
		text, err := licences(ctx)
		if err == nil {
			_, err = io.WriteString(out, text)
		}
		return err
	case len(args) == 2 && args[0] == "sbom":
		return sbom(ctx, args[1], out)
	case len(args) == 3 && args[0] == "vulndb":
		n, err := vulnDB(args[1], args[2])
		if err == nil {
			_, err = fmt.Fprintln(out, n)
		}
		return err
	}
	return fmt.Errorf("usage: supply licences | supply sbom BINARY | supply vulndb SOURCE OUT")
}
