package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/coverage"
	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/report"
	"github.com/hookback/hookback/schema/control"
)

const doctorHelp = `hookback doctor [flags]

Checks that Hookback works on this machine: which agents have it installed, whether they
load their settings, whether these are unchanged, whether your version of the agent is
the one that its tests proved, whether the hub answers, whether events arrive, and
whether the gate blocks a denied call. To test the gate, it runs the exact command of
each agent's settings with a made-up call, denies the call at the hub, and checks that
the agent would receive the denial. The call never runs and no request is left behind;
an open dashboard shows the request for a moment. The hub counts none of this, and
removes it after 24 hours.

Every warning and every problem comes with a fix.

Exit status: 0 healthy, 1 problems were found, 2 wrong usage.
`

// Doctor runs hookback doctor.
func Doctor(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	d := &doctor{Flags: cli.NewBareFlags("doctor", doctorHelp), env: env}
	d.ListVar(&d.agents, "agent", "check only this agent, by `name`")
	d.AddHubFlags(env)
	d.BoolVar(&d.asJSON, "json", false, "print the findings as JSON")
	d.IntVar(&d.runs, "runs", 5, "how often to time each hook, a `number`")
	if status, done := d.ParseFlags(args, std); done {
		return status
	}
	for i, name := range d.agents {
		if name == "claude" {
			d.agents[i] = "claude-code"
		} else if !slices.Contains(install.AgentNames(), name) {
			return std.PrintError("unknown agent %q; the agents are %s", name, strings.Join(install.AgentNames(), ", "))
		}
	}
	var err error
	if d.machine, err = coverage.NewMachine(env); err != nil {
		return std.PrintError("%v", err)
	}
	d.examine(ctx)
	return d.report(std)
}

// examine runs all checks and collects their findings.
func (d *doctor) examine(ctx context.Context) {
	hub := d.examineHub(ctx)
	all, err := install.Inspect(d.machine)
	if err != nil {
		d.fail("", "delete that file", "%v", err)
		return
	}
	all = slices.DeleteFunc(all, func(hooks install.InstalledHooks) bool {
		return len(d.agents) > 0 && !slices.Contains(d.agents, hooks.Agent)
	})
	if hub != nil {
		if d.states, err = coverageStates(ctx, d.env, hub, nil); err != nil {
			d.fail("", "check that file", "the installations can't be read: %v", err)
		}
	}
	hasHTTPHooks := d.examineHTTPHooks(all)
	for i := range d.states { // an agent that lost all of its hooks has no installation
		agent := d.states[i].Agent
		isListed := slices.ContainsFunc(all, func(hooks install.InstalledHooks) bool { return hooks.Agent == agent })
		if !isListed && (len(d.agents) == 0 || slices.Contains(d.agents, agent)) {
			d.examineCoverage(agent)
		}
	}
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
		case f.NotLoaded != "":
			d.fail(agent, f.Fix, "not loaded: %s, %s", file, f.NotLoaded)
		case f.Blocked != "":
			d.fail(agent, "add the URL to that setting", "%s: %s to %s will not run: %s", file, formatCount(len(f.Events), "http hook"), f.URL, f.Blocked)
		case slices.ContainsFunc(all, func(hooks install.InstalledHooks) bool { return hooks.Agent == agent }):
			d.warn(agent, "remove one of the two", "%s: %s to %s in addition to the installed hooks: each event is sent twice", file, formatCount(len(f.Events), "http hook"), f.URL)
		case f.NoEntrypoint:
			d.warn(agent, "copy the http hooks from the guide (agents.md) again", "%s: %s to %s without the header X-Claude-Entrypoint: the dashboard can't answer while Claude Code's own dialog is open", file, formatCount(len(f.Events), "http hook"), f.URL)
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
	source := cli.UserPolicySource(d.env, d.machine.Dir)
	if _, err := source.Load(); err != nil {
		d.fail("", "fix the file (hookback policy check); until then every call requires approval", "the policy can't be read: %v", err)
	} else if !cli.MayHavePolicy(source) {
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
		usable = false
	}
	version, minimum, enough := install.Version(d.machine, agent)
	if !enough {
		d.warn(agent, "update the agent", "version %s is older than %s and supports less", version, minimum)
	}
	if usable {
		d.compareWithProven(agent, version)
	}
	d.examineLog(agent)
	if len(installed) > 1 {
		d.warn(agent, "hookback uninstall --scope "+string(installed[1].Scope), "its hooks are installed twice (%s, %s) and run twice",
			abbreviateHome(d.machine.Home, installed[0].File), abbreviateHome(d.machine.Home, installed[1].File))
	}
	d.examineCoverage(agent)
	if hub == nil || !usable {
		return
	}
	d.examineHooks(ctx, hub, installed[0])
}

// compareWithProven compares the agent's version, "" if it is unknown, with the last one that its
// tests proved.
func (d *doctor) compareWithProven(agent, version string) {
	proven := install.ProvenVersion(agent)
	switch {
	case proven == "":
		d.warn(agent, "deny one of its calls in the dashboard, and see that it does not run", "from its documentation, not proven: no test runs this agent")
	case version == "":
		d.ok(agent, "proven on %s; your version is unknown", proven)
	case version == proven:
		d.ok(agent, "proven on %s, which you run", proven)
	case install.IsNewer(version, proven):
		d.warn(agent, "update hookback; until then, deny one of its calls in the dashboard after an update", "proven on %s, you run %s", proven, version)
	default:
		d.warn(agent, "update the agent", "proven on %s, you run %s", proven, version)
	}
}

// Entries of the hook log: an event that the adapter does not know, and an answer of a hub that the
// account does not trust.
var unknownEventLine, rejectedLine = logLine(`.* sent an unknown event ("[^"\n]*")`), logLine(`an answer was rejected: .* run: (hookback trust \S+)`)

func logLine(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(\S+) hook (\S+): ` + text) })
}

// newestEntry returns the time and the detail of the agent's newest entry of one kind in the hook log.
func (d *doctor) newestEntry(agent string, line *regexp.Regexp) (at time.Time, detail string) {
	text, err := os.ReadFile(cli.HookLogFile(d.env))
	if err != nil {
		return at, "" // no hook had anything to log
	}
	for _, entry := range slices.Backward(line.FindAllStringSubmatch(string(text), -1)) {
		if at, err = time.Parse(time.RFC3339, entry[1]); entry[2] == agent && err == nil {
			return at, entry[3]
		}
	}
	return time.Time{}, ""
}

// examineLog warns if the agent sends a tool call under an event that Hookback does not know, or if it
// rejected an answer since the trusted hubs changed.
func (d *doctor) examineLog(agent string) {
	if at, event := d.newestEntry(agent, unknownEventLine()); event != "" {
		d.warn(agent, "update hookback, then hookback install --agent "+agent,
			"%s ago it sent the unknown event %s with a tool call; the policy applies, but an approval cannot skip the agent's own prompt", formatAge(time.Since(at)), event)
	}
	at, remedy := d.newestEntry(agent, rejectedLine())
	if remedy == "" {
		return
	}
	if trust, err := agentclient.LoadTrust(d.Options()); err == nil {
		if info, err := os.Stat(trust.File()); err == nil && info.ModTime().After(at) {
			return
		}
	}
	d.warn(agent, remedy+", if you replaced the hub", "%s ago it rejected an answer, because this account trusts another hub", formatAge(time.Since(at)))
}

// examineSettings checks one settings file and reports whether its hooks can run.
func (d *doctor) examineSettings(hooks *install.InstalledHooks) bool {
	file := abbreviateHome(d.machine.Home, hooks.File)
	if hooks.NotLoaded != "" {
		d.fail(hooks.Agent, hooks.Fix, "not loaded: %s, %s", file, hooks.NotLoaded)
		return false
	}
	if hooks.Err != nil {
		remedy := "fix the file; until then hookback install does not change it"
		if _, err := os.Stat(hooks.File); err != nil {
			remedy = "hookback install --agent " + hooks.Agent
		}
		d.fail(hooks.Agent, remedy, "%s: %v", file, hooks.Err)
		return false
	}
	mode, changed, missing, cutShort := install.Gate, []string{}, "", map[string][]string{}
	wake := slices.ContainsFunc(hooks.Entries, install.HookEntry.Wakes)
	for _, e := range hooks.Entries {
		if e.Observes() {
			mode = install.Observe
		}
		if e.Enforced && !e.Observes() {
			mode = install.Enforce
		}
		if e.Changed {
			changed = append(changed, e.Event)
		}
		if e.CutShort != "" {
			cutShort[e.CutShort] = append(cutShort[e.CutShort], e.Event)
		}
		if err := d.checkProgram(e.Binary); err != nil {
			missing = err.Error()
		}
	}
	reinstall := fmt.Sprintf("hookback install --agent %s --scope %s --mode %s", hooks.Agent, hooks.Scope, mode)
	if hooks.Scope == install.Managed {
		reinstall = fmt.Sprintf("hookback install --managed / --agent %s --mode %s", hooks.Agent, mode)
	}
	if wake {
		reinstall += " --wake"
	}
	if missing != "" {
		d.fail(hooks.Agent, reinstall, "%s: %s", file, missing)
		return false
	}
	d.ok(hooks.Agent, "%s: %s (%s)", file, formatCount(len(hooks.Entries), "hook"), mode)
	if wake {
		d.ok(hooks.Agent, "messages wake its idle sessions")
	}
	for reason, events := range cutShort {
		d.fail(hooks.Agent, reinstall+" --force", "%s: %s: %s; the call then goes on without an answer", file, strings.Join(events, ", "), reason)
	}
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
		if _, err := coverage.LookPath(d.env, binary); err != nil {
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

// examineCoverage adds the state of an agent, unless a finding has it already.
func (d *doctor) examineCoverage(agent string) {
	i := slices.IndexFunc(d.states, func(c control.Coverage) bool { return c.Agent == agent })
	if i < 0 {
		return
	}
	c := &d.states[i]
	found := func(s severity) bool {
		return slices.ContainsFunc(d.findings, func(f finding) bool { return f.Agent == agent && f.Severity == s })
	}
	switch text := describeState(c); {
	case c.State == control.CoverageProven:
		d.ok(agent, "%s", text)
	case c.State == control.CoverageNotProven, c.State == control.CoverageChanged && !found(severityWarning):
		d.warn(agent, c.Remedy, "%s", text)
	case (c.State == control.CoverageOff || c.State == control.CoverageNotLoaded) && !found(severityProblem):
		d.fail(agent, c.Remedy, "%s", text)
	}
}

// examineHub checks that the hub answers and stores an event. It returns nil if not.
func (d *doctor) examineHub(ctx context.Context) *doctorClient {
	hubs, err := d.Hubs()
	if err != nil {
		d.fail("", "fix HOOKBACK_URL or --hub", "%v", err)
		return nil
	}
	hub, health, err := newDoctorClient(ctx, d.Flags, hubs[0])
	if err != nil {
		d.fail("", "start a hub (see the README) or name another with --hub", "%v", err)
		return nil
	}
	d.ok("", "the hub at %s answers (%s, version %s) through %s", hub.url, health.Status, health.Version, hub.way)
	d.examineKey(ctx, hub.url)
	took, err := hub.roundTripEvent(ctx)
	if errors.Is(err, errOldHub) {
		d.fail("", "update the hub", "version %s of the hub is too old for this check: whether events arrive and calls are blocked was not tested", health.Version)
		return nil
	}
	if err != nil {
		d.fail("", "check the hub's log and disk", "a test event was sent, but the hub does not have it: %v", err)
		return nil
	}
	d.ok("", "a test event arrived in %d ms", took.Milliseconds())
	return hub
}

// examineKey checks that this account trusts the hub's key.
func (d *doctor) examineKey(ctx context.Context, hub string) {
	trust, err := agentclient.LoadTrust(d.Options())
	if err != nil {
		d.fail("", "fix the file; until then every answer is denied", "the trusted hubs can't be read: %v", err)
		return
	}
	client := agentclient.New(d.Options())
	defer func() { _ = client.Close() }()
	pin, err := client.Identify(ctx, hub)
	pins, remedy := trust.Pins(), "hookback trust "+hub
	switch {
	case cli.HasNoKey(err) && len(pins) == 0:
		d.ok("", "the hub has no key, so its answers are not signed; a newer hub has one")
	case cli.HasNoKey(err):
		d.fail("", "update the hub, then "+remedy, "the hub has no key, but this account trusts %s, so its answers are denied", describePins(pins))
	case err != nil:
		d.fail("", "check the hub's log", "the hub does not prove its key: %v", cli.RootCause(err))
	case slices.ContainsFunc(pins, func(p agentclient.Pin) bool { return p.Key.Equal(pin.Key) }):
		d.ok("", "the hub's key is %s, trusted in %s", pin.KeyID(), abbreviateHome(d.machine.Home, trust.File()))
	case len(pins) == 0:
		d.warn("", remedy+", if the hub prints that id", "the hub's key is %s, which this account does not trust yet", pin.KeyID())
	default:
		d.fail("", remedy+", if you replaced the hub", "the hub's key is %s, but this account trusts %s, so its answers are denied", pin.KeyID(), describePins(pins))
	}
}
