package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"telefuser/internal/config"
)

// doctorTimeout bounds one check of the doctor with all that it asks.
const doctorTimeout = 20 * time.Second

// The verdicts of a finding. A note is something to know that breaks no promise.
const (
	verdictOK   = "ok"
	verdictNote = "note"
	verdictFail = "fail"
	verdictSkip = "skip"
)

// finding is one line of the doctor.
type finding struct {
	// Check is what was looked at, such as "redis.policy"; its first word is what --skip takes.
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	Says    string `json:"says"`
	// Do is what to do about it; empty where nothing is to be done.
	Do string `json:"do,omitempty"`
}

// patient is what the checks look at, and where they write down what they find.
type patient struct {
	cfg      config.Config
	findings []finding
}

func (p *patient) ok(check, format string, args ...any) { p.say(check, verdictOK, "", format, args...) }

func (p *patient) note(check, do, format string, args ...any) {
	p.say(check, verdictNote, do, format, args...)
}

func (p *patient) fail(check, do, format string, args ...any) {
	p.say(check, verdictFail, do, format, args...)
}

func (p *patient) say(check, verdict, do, format string, args ...any) {
	f := finding{Check: check, Verdict: verdict, Says: fmt.Sprintf(format, args...), Do: do}
	for _, text := range []*string{&f.Says, &f.Do} {
		*text = strings.Join(strings.Fields(withoutSecrets(*text, p.cfg)), " ")
	}
	p.findings = append(p.findings, f)
}

// withoutSecrets masks every secret of the settings in a text: the words of other programs are shown, and nobody knows what they repeat.
func withoutSecrets(text string, c config.Config) string {
	secrets := append([]string{c.Storage.S3.SecretKey, c.LiveKit.APISecret}, c.Webhooks.SecretKeys...)
	if u, err := url.Parse(c.Redis.URL); err == nil {
		password, _ := u.User.Password()
		secrets = append(secrets, password, url.QueryEscape(password))
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "********")
		}
	}
	return text
}

// doctorChecks are the checks by the name that --skip takes, in the order in which they are made.
func doctorChecks() []doctorCheck {
	return []doctorCheck{
		{"redis", checkRedis}, {"webhooks", checkWebhooks}, {"storage", checkStorage}, {"livekit", checkLiveKit}, {"media", checkLibraries}, {"gpu", checkGPU}, {"temp", checkTemp}, {"ports", checkPorts},
	}
}

type doctorCheck struct {
	name string
	look func(ctx context.Context, p *patient)
}

func newDoctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what the service stands on, with these settings, and say what to do",
		Long: "doctor looks at Redis, the object store, LiveKit, the media libraries, the GPUs, the temporary folder and the ports, one line each.\n" +
			"It leaves nothing behind and may run beside a service. Exit code 1 says that something must be mended.",
		Args: cobra.NoArgs,
	}
	load := settings(cmd, config.Default())
	asJSON := cmd.Flags().Bool("json", false, "print JSON in place of lines")
	skip := cmd.Flags().StringSlice("skip", nil, "checks that this machine does not need: "+strings.Join(doctorCheckNames(), ", "))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := load()
		if err != nil {
			return err
		}
		for _, name := range *skip {
			if !slices.Contains(doctorCheckNames(), name) {
				return usageError{fmt.Errorf("--skip %s: known are %s", name, strings.Join(doctorCheckNames(), ", "))}
			}
		}
		if c, err = absolute(c); err != nil {
			return err
		}
		findings := examine(cmd.Context(), c, *skip)
		if err := printFindings(cmd.OutOrStdout(), findings, *asJSON); err != nil {
			return err
		}
		return verdictOf(findings)
	}
	return cmd
}

func doctorCheckNames() []string {
	var names []string
	for _, c := range doctorChecks() {
		names = append(names, c.name)
	}
	return names
}

// examine makes every check that is not skipped.
func examine(ctx context.Context, c config.Config, skip []string) []finding {
	p := &patient{cfg: c}
	for _, check := range doctorChecks() {
		if slices.Contains(skip, check.name) {
			p.say(check.name, verdictSkip, "", "not looked at")
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
		check.look(ctx, p)
		cancel()
	}
	return p.findings
}

func printFindings(w io.Writer, findings []finding, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(findings)
	}
	for _, f := range findings {
		line := fmt.Sprintf("%-4s  %-16s  %s", f.Verdict, f.Check, f.Says)
		if f.Do != "" {
			line += "; " + f.Do
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func verdictOf(findings []finding) error {
	var failed []string
	for _, f := range findings {
		if f.Verdict == verdictFail {
			failed = append(failed, f.Check)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("doctor: to be mended: %s", strings.Join(failed, ", "))
}
