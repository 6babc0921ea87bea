package main

import (
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"telefuser/internal/config"
)

// Exit codes beside 0 and 1.
const exitUsage = 2

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "telefuser",
		Short:         "A self-hosted video generation cloud",
		Long:          "telefuser serves the OpenAI Videos API from your own machines: an API, durable jobs, and workers that run pipelines.",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newServeCommand(), newStreamServeCommand(), newWorkerCommand(), newDevCommand(), newDemoCommand(), newEngineCommand(),
		newKeysCommand(), newJobsCommand(), newWebhooksCommand(), newSessionsCommand(), newConfigCommand(), newCheckCommand(), newDoctorCommand(), newVersionCommand(), newBenchCommand(), newGPUsCommand(), newModelsCommand())
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	beStrict(root)
	return root
}

// beStrict makes wrong arguments and unknown commands usage errors, and a group of commands by itself its help.
func beStrict(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{err}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		beStrict(sub)
	}
}

// usageError is a command line that makes no sense.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func exitCode(err error) int {
	var usage usageError
	if errors.As(err, &usage) || errors.Is(err, config.ErrInvalid) {
		return exitUsage
	}
	return 1
}

// settings adds the settings' flags to a command, whose defaults are those of base, and answers how to read them once the command line is parsed.
func settings(cmd *cobra.Command, base config.Config) func() (config.Config, error) {
	load := settingsFrom(cmd, base)
	return func() (config.Config, error) { return load(base) }
}

// settingsFrom does so for a command whose defaults hang on other settings: it shows those of base and can be read from another one.
func settingsFrom(cmd *cobra.Command, base config.Config) func(base config.Config) (config.Config, error) {
	file := cmd.Flags().String("config", "", "YAML file with settings (also TELEFUSER_CONFIG)")
	for _, f := range config.Fields() {
		value := f.Value(base)
		cmd.Flags().String(f.Flag, value, f.Doc+" ["+f.Env+"]")
		if value == "true" || value == "false" {
			cmd.Flags().Lookup(f.Flag).NoOptDefVal = "true"
		}
	}
	return func(base config.Config) (config.Config, error) {
		given := map[string]string{}
		cmd.Flags().Visit(func(f *pflag.Flag) { given[f.Name] = f.Value.String() })
		return config.Load(base, *file, config.Environ(), given)
	}
}

// newLogger writes lines to w as the settings say.
func newLogger(c config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if c.Format == "text" {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

func stderrLogger(c config.Log) *slog.Logger { return newLogger(c, os.Stderr) }
