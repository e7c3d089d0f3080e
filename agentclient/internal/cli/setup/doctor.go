package setup

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
)

const doctorHelp = `hookback doctor [flags]

Checks that Hookback works on this machine: which agents have it installed and whether
their settings are unchanged, whether the hub answers, whether events arrive, and
whether the gate blocks a denied call. To test the gate, it runs the exact command of
each agent's settings with a made-up call, denies the call at the hub, and checks that
the agent would receive the denial. The call never runs and no request is left behind;
an open dashboard shows the request for a moment.

Every warning and every problem comes with a fix.

Exit status: 0 healthy, 1 problems were found, 2 wrong usage.
`

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
	agents cli.StringList
	asJSON bool
	runs   int

	env      func(string) string
	machine  install.Machine
	findings []finding
}

// Doctor runs hookback doctor.
func Doctor(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	d := &doctor{Flags: cli.NewBareFlags("doctor", doctorHelp), env: env}
	d.Var(&d.agents, "agent", "check only this agent, by `name`")
	d.AddHubFlags(env)
	d.BoolVar(&d.asJSON, "json", false, "print the findings as JSON")
	d.IntVar(&d.runs, "runs", 5, "how often to time each hook, a `number`")
	if status, done := d.ParseArgs(args, std); done {
		return status
	}
	if len(d.Positional) > 0 {
		return std.PrintError("doctor takes flags only, not %q", d.Positional[0])
	}
	for i, name := range d.agents {
		if name == "claude" {
			d.agents[i] = "claude-code"
		} else if !slices.Contains(install.AgentNames(), name) {
			return std.PrintError("unknown agent %q; the agents are %s", name, strings.Join(install.AgentNames(), ", "))
		}
	}
	var err error
	if d.machine, err = newMachine(env); err != nil {
		return std.PrintError("%v", err)
	}
	d.examine(ctx)
	return d.report(std)
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

// examine runs all checks and collects their findings.
func (d *doctor) examine(ctx context.Context) {
	hub := d.examineHub(ctx)
	if hub != nil {
		defer hub.close()
	}
	all, err := install.Inspect(d.machine)
	if err != nil {
		d.fail("", "delete that file", "%v", err)
		return
	}
	all = slices.DeleteFunc(all, func(hooks install.InstalledHooks) bool {
		return len(d.agents) > 0 && !slices.Contains(d.agents, hooks.Agent)
	})
	hasHTTPHooks := d.examineHTTPHooks(all)
	if len(all) == 0 && !hasHTTPHooks {
		d.fail("", "hookback install", "Hookback is not installed for any agent")
	}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Agent == all[0].Agent {
			n++
		}
		d.examineAgent(ctx, hub, all[:n])
		all = all[n:]
	}
	d.examineState()
}

// examineHTTPHooks checks Claude Code's HTTP hooks, which need no program. It reports
// whether there are any.
func (d *doctor) examineHTTPHooks(all []install.InstalledHooks) bool {
	const agent = "claude-code"
	if len(d.agents) > 0 && !slices.Contains(d.agents, agent) {
		return false
	}
	found := install.HTTPHooks(d.machine)
	for _, f := range found {
		file := abbreviateHome(d.machine.Home, f.File)
		switch {
		case f.Blocked != "":
			d.fail(agent, "add the URL to that setting", "%s: %s to %s will not run: %s", file, formatCount(len(f.Events), "http hook"), f.URL, f.Blocked)
		case slices.ContainsFunc(all, func(hooks install.InstalledHooks) bool { return hooks.Agent == agent }):
			d.warn(agent, "remove one of the two", "%s: %s to %s in addition to the installed hooks: each event is sent twice", file, formatCount(len(f.Events), "http hook"), f.URL)
		default:
			d.ok(agent, "%s: %s to %s", file, formatCount(len(f.Events), "http hook"), f.URL)
			d.findings[len(d.findings)-1].Remedy = "if others use this machine: hookback install --agent claude-code, and remove the http hooks; Claude Code checks no signature"
		}
	}
	return len(found) > 0
}

// examineState checks the spool and the policies.
func (d *doctor) examineState() {
	if stored := report.NewSpool(d.env).Len(); stored > 0 {
		d.warn("", "the next hook that reaches the hub sends them", "%s stored until a hub answers", formatCount(stored, "event"))
	}
	source := cli.UserPolicySource(d.env)
	source.Dir = d.machine.Dir
	if _, err := source.Load(); err != nil {
		d.fail("", "fix the file (hookback policy check); until then every call requires approval", "the policy can't be read: %v", err)
	} else if !hasPolicyFile(d.machine.Dir, d.env) {
		d.ok("", "no policy: Hookback receives only the agents' own permission prompts (hookback policy init writes a policy)")
	}
}

// examineAgent checks the settings of one agent and then runs its hooks.
func (d *doctor) examineAgent(ctx context.Context, hub *doctorClient, installed []install.InstalledHooks) {
	agent := installed[0].Agent
	usable := true
	for i := range installed {
		usable = d.examineSettings(&installed[i]) && usable
	}
	for _, reason := range install.DisabledBy(d.machine, agent) {
		d.fail(agent, "remove that setting", "its hooks are disabled: %s", reason)
	}
	if version, minimum, enough := install.Version(d.machine, agent); !enough {
		d.warn(agent, "update the agent", "version %s is older than %s and supports less", version, minimum)
	}
	if len(installed) > 1 {
		d.warn(agent, "hookback uninstall --scope "+string(installed[1].Scope), "its hooks are installed twice (%s, %s) and run twice",
			abbreviateHome(d.machine.Home, installed[0].File), abbreviateHome(d.machine.Home, installed[1].File))
	}
	if hub == nil || !usable {
		return
	}
	d.examineLastEvent(ctx, hub, agent)
	d.examineHooks(ctx, hub, installed[0])
}

// examineSettings checks one settings file and reports whether its hooks can run.
func (d *doctor) examineSettings(hooks *install.InstalledHooks) bool {
	file := abbreviateHome(d.machine.Home, hooks.File)
	if hooks.Err != nil {
		remedy := "fix the file; until then hookback install does not change it"
		if _, err := os.Stat(hooks.File); err != nil {
			remedy = "hookback install --agent " + hooks.Agent
		}
		d.fail(hooks.Agent, remedy, "%s: %v", file, hooks.Err)
		return false
	}
	mode, changed, missing := install.Gate, []string{}, ""
	for _, e := range hooks.Entries {
		if e.Observes() {
			mode = install.Observe
		}
		if e.Changed {
			changed = append(changed, e.Event)
		}
		if err := d.checkProgram(e.Binary); err != nil {
			missing = err.Error()
		}
	}
	reinstall := fmt.Sprintf("hookback install --agent %s --scope %s --mode %s", hooks.Agent, hooks.Scope, mode)
	if missing != "" {
		d.fail(hooks.Agent, reinstall, "%s: %s", file, missing)
		return false
	}
	d.ok(hooks.Agent, "%s: %s (%s)", file, formatCount(len(hooks.Entries), "hook"), mode)
	if len(changed) > 0 {
		d.warn(hooks.Agent, reinstall+" --force, unless that was intended", "%s: changed by hand: %s", file, strings.Join(changed, ", "))
	}
	if len(hooks.Missing) > 0 {
		d.warn(hooks.Agent, reinstall, "%s: not installed for %s", file, strings.Join(hooks.Missing, ", "))
	}
	return true
}

// checkProgram returns an error if binary is not an executable file.
func (d *doctor) checkProgram(binary string) error {
	if !filepath.IsAbs(binary) {
		if _, err := lookPath(d.env, binary); err != nil {
			return fmt.Errorf("%s is not on the PATH", binary)
		}
		return nil
	}
	info, err := os.Stat(binary)
	if err != nil || info.IsDir() || info.Mode()&0o111 == 0 && !d.machine.Windows {
		return fmt.Errorf("the program %s does not exist or is not executable", binary)
	}
	return nil
}

// examineLastEvent checks when the hub last received an event of the agent.
func (d *doctor) examineLastEvent(ctx context.Context, hub *doctorClient, agent string) {
	last, scanned, err := hub.lastEventOf(ctx, agent)
	switch {
	case err != nil:
		d.fail(agent, "check the hub's log", "the hub does not list its events: %v", err)
	case last.IsZero():
		d.warn(agent, cmp.Or(install.Hint(agent), "use the agent once"), "installed, but none of the hub's newest %d events is from this agent", scanned)
	default:
		d.ok(agent, "its last event arrived %s ago", formatAge(time.Since(last)))
	}
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
