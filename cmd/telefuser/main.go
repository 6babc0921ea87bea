// Command telefuser is the whole service in one binary: the API, the workers, the engines and the operator's tools.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "unknown"

func main() {
	// The first signal asks for an orderly end; a second one ends the process at once, as the default action does.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() { <-ctx.Done(); stop() }()
	if err := newRootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "telefuser:", err)
		os.Exit(exitCode(err))
	}
}
