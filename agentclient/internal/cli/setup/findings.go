package setup

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema/control"
)

// severity rates a finding. Its values are part of the JSON output.
type severity string

// Severities. Warnings do not affect the exit status.
const (
	severityOK      severity = "ok"
	severityWarning severity = "look"
	severityProblem severity = "problem"
)

// finding is the result of one check.
type finding struct {
	Agent    string   `json:"agent,omitempty"` // empty for findings about the hub and this machine
	Severity severity `json:"state"`
	Text     string   `json:"text"`
	Remedy   string   `json:"remedy,omitempty"`
}

// doctor is one run of the doctor command.
type doctor struct {
	*cli.Flags
	agents []string
	asJSON bool
	runs   int

	env      func(string) string
	machine  install.Machine
	states   []control.Coverage // of the account's agents
	findings []finding
}

func (d *doctor) ok(agent, text string, args ...any) {
	d.findings = append(d.findings, finding{Agent: agent, Severity: severityOK, Text: fmt.Sprintf(text, args...)})
}

// warn and fail take the remedy first, because the arguments belong to the text.
func (d *doctor) warn(agent, remedy, text string, args ...any) {
	d.findings = append(d.findings, finding{agent, severityWarning, fmt.Sprintf(text, args...), remedy})
}

func (d *doctor) fail(agent, remedy, text string, args ...any) {
	d.findings = append(d.findings, finding{agent, severityProblem, fmt.Sprintf(text, args...), remedy})
}

// report prints the findings and returns the exit status.
func (d *doctor) report(std cli.Streams) (status int) {
	if slices.ContainsFunc(d.findings, func(f finding) bool { return f.Severity == severityProblem }) {
		status = cli.ExitProblem
	}
	if d.asJSON {
		if err := cli.WriteJSON(std.Out, map[string]any{"healthy": status == cli.ExitOK, "findings": d.findings}); err != nil {
			return std.PrintError("%v", err)
		}
		return status
	}
	last := "-"
	for _, f := range d.findings {
		if f.Agent != last {
			fmt.Fprintln(std.Out, cmp.Or(install.AgentTitle(f.Agent), "Hookback"))
			last = f.Agent
		}
		fmt.Fprintf(std.Out, "  %s %s\n", map[severity]string{severityOK: "✓", severityWarning: "!", severityProblem: "✗"}[f.Severity], f.Text)
		if f.Remedy != "" {
			fmt.Fprintf(std.Out, "    → %s\n", f.Remedy)
		}
	}
	return status
}

// formatCount returns a number with its noun, such as "2 hooks".
func formatCount(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// formatAge formats a duration in its largest unit, such as "3 min".
func formatAge(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(d, 0)/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}
