package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/install"
)

const doctorHelp = `hookback doctor [flags]

Looks whether Hookback works here: what is installed for which agent and whether it
is as it was written, whether the hub answers, whether events arrive, and whether the
gate holds. For that it runs the very command of each agent's settings with a made-up
call, denies it itself at the hub, and looks whether the agent would be told no. The
call is never run, and no card is left behind; a page that is open shows it for a
moment.

Every finding that is not well has its remedy beside it.

Exit status: 0 healthy, 1 problems were found, 2 wrong usage.
`

// state says how good a finding is.
type state string

// The states. What is worth a look is no problem.
const (
	well  state = "ok"
	look  state = "look"
	wrong state = "problem"
)

// finding is one thing that was looked at.
type finding struct {
	Agent  string `json:"agent,omitempty"` // "": the hub
	State  state  `json:"state"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// doctor is one run of the verb.
type doctor struct {
	*flags
	agents list
	asJSON bool
	runs   int

	env      func(string) string
	machine  install.Machine
	findings []finding
}

func runDoctor(ctx context.Context, args []string, env func(string) string, std streams) int {
	d := &doctor{flags: bareFlags("doctor", doctorHelp), env: env}
	d.Var(&d.agents, "agent", "look at this agent only, by `name`")
	d.StringVar(&d.hub, "hub", env("HOOKBACK_URL"), "the hub's `address` (HOOKBACK_URL)")
	d.BoolVar(&d.asJSON, "json", false, "print the findings as JSON")
	d.IntVar(&d.runs, "runs", 5, "how often each hook is timed, a `number`")
	if status, done := d.parse(args, std); done {
		return status
	}
	if len(d.words) > 0 {
		return std.complain("doctor takes flags only, not %q", d.words[0])
	}
	for i, name := range d.agents {
		if name == "claude" {
			d.agents[i] = "claude-code"
		} else if !slices.Contains(install.Names(), name) {
			return std.complain("there is no agent %q; it is %s", name, strings.Join(install.Names(), ", "))
		}
	}
	var err error
	if d.machine, err = machine(env); err != nil {
		return std.complain("%v", err)
	}
	d.examine(ctx)
	return d.report(std)
}

func (d *doctor) well(agent, text string, args ...any) {
	d.findings = append(d.findings, finding{Agent: agent, State: well, Text: fmt.Sprintf(text, args...)})
}

// look and wrong take the remedy first, since the text has arguments.
func (d *doctor) look(agent, remedy, text string, args ...any) {
	d.findings = append(d.findings, finding{agent, look, fmt.Sprintf(text, args...), remedy})
}

func (d *doctor) wrong(agent, remedy, text string, args ...any) {
	d.findings = append(d.findings, finding{agent, wrong, fmt.Sprintf(text, args...), remedy})
}

// examine looks at everything.
func (d *doctor) examine(ctx context.Context) {
	hub := d.examineHub(ctx)
	if hub != nil {
		defer hub.close()
	}
	all, err := install.Inspect(d.machine)
	if err != nil {
		d.wrong("", "delete that file", "%v", err)
		return
	}
	all = slices.DeleteFunc(all, func(one install.InstalledHooks) bool {
		return len(d.agents) > 0 && !slices.Contains(d.agents, one.Agent)
	})
	straight := d.examineDirect(all)
	if len(all) == 0 && !straight {
		d.wrong("", "hookback install", "Hookback is not installed for any agent here")
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

// examineDirect looks at Claude Code's http hooks, which need no program, and reports
// whether there are any.
func (d *doctor) examineDirect(all []install.InstalledHooks) bool {
	const agent = "claude-code"
	if len(d.agents) > 0 && !slices.Contains(d.agents, agent) {
		return false
	}
	found := install.HTTPHooks(d.machine)
	for _, f := range found {
		file := tilde(d.machine.Home, f.File)
		switch {
		case f.Blocked != "":
			d.wrong(agent, "add the address there", "%s: %s to %s will not run: %s", file, count(len(f.Events), "http hook"), f.URL, f.Blocked)
		case slices.ContainsFunc(all, func(one install.InstalledHooks) bool { return one.Agent == agent }):
			d.look(agent, "take one of the two away", "%s: %s to %s beside the installed ones: each event is told twice", file, count(len(f.Events), "http hook"), f.URL)
		default:
			d.well(agent, "%s: %s to %s", file, count(len(f.Events), "http hook"), f.URL)
		}
	}
	return len(found) > 0
}

// examineState looks at what hooks left behind.
func (d *doctor) examineState() {
	if kept := len(newSpool(d.env).list()); kept > 0 {
		d.look("", "the next hook that finds the hub sends them", "%s kept until a hub answers", count(kept, "event"))
	}
	if _, err := agentclient.LoadPolicy(d.machine.Dir, d.env); err != nil {
		d.wrong("", "correct it (hookback policy check); until then people are asked about every call", "the policy can't be read: %v", err)
	} else if !hasPolicy(d.machine.Dir, d.env) {
		d.well("", "no policy: only the agents' own permission prompts come to Hookback (hookback policy init writes one)")
	}
}

// examineAgent looks at one agent: its settings, then its hooks at work.
func (d *doctor) examineAgent(ctx context.Context, hub *clinic, places []install.InstalledHooks) {
	agent := places[0].Agent
	sound := true
	for i := range places {
		sound = d.examineSettings(&places[i]) && sound
	}
	for _, reason := range install.DisabledBy(d.machine, agent) {
		d.wrong(agent, "take that setting away", "its hooks don't run: %s", reason)
	}
	if version, oldest, enough := install.Version(d.machine, agent); !enough {
		d.look(agent, "update it", "version %s is older than %s and knows less", version, oldest)
	}
	if len(places) > 1 {
		d.look(agent, "hookback uninstall --scope "+string(places[1].Scope), "its hooks are installed twice (%s, %s), and run twice",
			tilde(d.machine.Home, places[0].File), tilde(d.machine.Home, places[1].File))
	}
	if hub == nil || !sound {
		return
	}
	d.examineAge(ctx, hub, agent)
	d.examineHooks(ctx, hub, places[0])
}

// examineSettings looks at one file, and reports whether its hooks can run.
func (d *doctor) examineSettings(at *install.InstalledHooks) bool {
	file := tilde(d.machine.Home, at.File)
	if at.Err != nil {
		remedy := "correct the file: until then hookback install leaves it as it is"
		if _, err := os.Stat(at.File); err != nil {
			remedy = "hookback install --agent " + at.Agent
		}
		d.wrong(at.Agent, remedy, "%s: %v", file, at.Err)
		return false
	}
	mode, changed, gone := install.Gate, []string{}, ""
	for _, e := range at.Entries {
		if e.Observes() {
			mode = install.Observe
		}
		if e.Changed {
			changed = append(changed, e.Event)
		}
		if err := d.runnable(e.Binary); err != nil {
			gone = err.Error()
		}
	}
	again := fmt.Sprintf("hookback install --agent %s --scope %s --mode %s", at.Agent, at.Scope, mode)
	if gone != "" {
		d.wrong(at.Agent, again, "%s: %s", file, gone)
		return false
	}
	d.well(at.Agent, "%s: %s (%s)", file, count(len(at.Entries), "hook"), mode)
	if len(changed) > 0 {
		d.look(at.Agent, again+" --force, if that was not meant", "%s: changed by hand: %s", file, strings.Join(changed, ", "))
	}
	if len(at.Missing) > 0 {
		d.look(at.Agent, again, "%s: not installed for %s", file, strings.Join(at.Missing, ", "))
	}
	return true
}

// runnable is an error when there is no such program.
func (d *doctor) runnable(binary string) error {
	if !filepath.IsAbs(binary) {
		if _, err := lookPath(d.env, binary); err != nil {
			return fmt.Errorf("%s is not on the PATH", binary)
		}
		return nil
	}
	info, err := os.Stat(binary)
	if err != nil || info.IsDir() || info.Mode()&0o111 == 0 && !d.machine.Windows {
		return fmt.Errorf("the program %s is gone", binary)
	}
	return nil
}

// examineAge looks when the hub heard of the agent last.
func (d *doctor) examineAge(ctx context.Context, hub *clinic, agent string) {
	last, among, err := hub.lastOf(ctx, agent)
	switch {
	case err != nil:
		d.wrong(agent, "look at the hub's log", "the hub doesn't list events: %v", err)
	case last.IsZero():
		d.look(agent, cmp.Or(install.Hint(agent), "use it once"), "installed, but no event of it is among the hub's newest %d", among)
	default:
		d.well(agent, "its last event came %s ago", age(time.Since(last)))
	}
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// age is a duration as people say it.
func age(t time.Duration) string {
	switch {
	case t < time.Minute:
		return fmt.Sprintf("%d s", max(t, 0)/time.Second)
	case t < time.Hour:
		return fmt.Sprintf("%d min", t/time.Minute)
	case t < 48*time.Hour:
		return fmt.Sprintf("%d h", t/time.Hour)
	}
	return fmt.Sprintf("%d days", t/(24*time.Hour))
}

// report prints the findings and gives the exit status.
func (d *doctor) report(std streams) (status int) {
	if slices.ContainsFunc(d.findings, func(f finding) bool { return f.State == wrong }) {
		status = exitNo
	}
	if d.asJSON {
		e := json.NewEncoder(std.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(map[string]any{"healthy": status == exitYes, "findings": d.findings}); err != nil {
			return std.complain("%v", err)
		}
		return status
	}
	last := "-"
	for _, f := range d.findings {
		if f.Agent != last {
			fmt.Fprintln(std.out, cmp.Or(install.Title(f.Agent), "Hookback"))
			last = f.Agent
		}
		fmt.Fprintf(std.out, "  %s %s\n", map[state]string{well: "✓", look: "!", wrong: "✗"}[f.State], f.Text)
		if f.Remedy != "" {
			fmt.Fprintf(std.out, "    → %s\n", f.Remedy)
		}
	}
	return status
}
