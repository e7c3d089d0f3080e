// Package setup is hookback install, uninstall and doctor: the settings of coding agents.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hookback/hookback/agentclient/coverage"
	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/cli"
)

const installHelp = `hookback install [flags]

Adds Hookback's hooks to the settings of the coding agents on this machine. It adds its
own entries and changes nothing else: comments, order, indentation and other hooks stay
unchanged. Running it again changes nothing or updates its entries. hookback uninstall
removes them.

--mode gate (the default) also asks people: about the agent's own permission prompts,
and about the calls for which hookback.json requires approval. --mode observe sends
events and never answers. --mode enforce is gate, and a tool call does not run while this
program is missing or fails. Agents without such a setting are refused.

--wake adds a hook that waits in the background while a session of Claude Code is idle: a
message from the dashboard then wakes it immediately. Claude Code shows the message to the model as
feedback of a hook, not as input of its user. Installing without --wake removes that hook.

The settings name the hub, so that HOOKBACK_URL can't choose another, and the hub's key is
pinned: answers count only if that hub signed them (see hookback trust --help). Compare the
key id with the one that the hub prints.

--scope project writes the project's shared settings: the command is hookback on the
PATH, and does nothing on machines without it. It names a hub only with --hub.

--managed DIR writes for every account of a machine, below DIR, which is / or the root of
an image: the managed settings of the agents that have them, the pin
etc/hookback/hub.pub and your hookback.json as etc/hookback/hookback.json, whose rules
ask and deny. The hub must answer, so that its key can be pinned; compare the key id. Run
it as root, or make root the owner of the files.

Before it changes a file, it saves a copy in the state directory
(~/.local/state/hookback/backups on Linux). It keeps the last five copies of each file.
A file that the agent does not load stays unchanged; the reason and the fix are printed.

Exit status: 0 done, 1 something was left unchanged (the reason is on stderr), 2 wrong
usage.
`

// installFlags holds the flags of install and uninstall.
type installFlags struct {
	*cli.Flags
	agents      []string
	scope, mode string
	binary      string
	dryRun      bool
	verbose     bool
	force       bool
	wake        bool
	managed     string // the root of the managed settings; "": none
	quiet       bool   // omit unchanged files from the output
	home        string // printed as ~
}

func (i *installFlags) addCommonFlags(f *cli.Flags) {
	i.Flags = f
	f.ListVar(&i.agents, "agent", "only this agent, by `name`; repeat the flag for each agent: auto, "+strings.Join(install.AgentNames(), ", "))
	f.BoolVar(&i.dryRun, "dry-run", false, "print which files would change, and write nothing")
	f.BoolVar(&i.verbose, "verbose", false, "with --dry-run, also print the changes as a diff")
	f.BoolVar(&i.force, "force", false, "also replace or remove entries that were changed by hand")
}

// Install runs hookback install.
func Install(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	i := &installFlags{}
	i.addCommonFlags(cli.NewBareFlags("install", installHelp))
	i.StringVar(&i.scope, "scope", "user", "the settings to change, a `scope`: user, project, or local (the unshared settings of the project; Claude Code only)")
	i.StringVar(&i.mode, "mode", "gate", "a `mode`: gate (also asks people), enforce (also blocks calls while hookback is missing) or observe (only sends events)")
	i.BoolVar(&i.wake, "wake", false, "also wake idle sessions of Claude Code for messages from the dashboard; keeps one process per idle session")
	i.StringVar(&i.managed, "managed", "", "write the settings of every account of a machine below this `directory`, / or the root of an image")
	i.AddHubFlags(env)
	i.StringVar(&i.binary, "binary", "", "the `path` of the hookback program in the settings; default: this program")
	if status, done := i.ParseArgs(args, std); done {
		return status
	}
	m, err := coverage.NewMachine(env)
	if err != nil {
		return std.PrintError("%v", err)
	}
	if i.managed != "" {
		return i.installManaged(ctx, m, env, std)
	}
	o, err := i.options(m, env)
	if err != nil {
		return std.PrintError("%v", err)
	}
	if len(o.Agents) == 0 {
		return std.PrintError("no coding agent was found; name one with --agent: %s", strings.Join(install.AgentNames(), ", "))
	}
	if i.home = m.Home; i.dryRun {
		printDetected(std.Err, m, o)
	}
	p, err := install.Install(m, o)
	if err != nil {
		return std.PrintError("%v", err)
	}
	status := i.apply(p, std)
	if o.Mode != install.Observe && !i.dryRun && !cli.MayHavePolicy(cli.UserPolicySource(env, m.Dir)) {
		p.Notes = append(p.Notes, "There is no hookback.json, so Hookback receives only the agents' own permission prompts; hookback policy init writes one")
	}
	for _, note := range slices.Compact(slices.Sorted(slices.Values(p.Notes))) {
		fmt.Fprintf(std.Err, "  %s.\n", note)
	}
	if o.Hub != "" && !i.dryRun {
		fmt.Fprintf(std.Err, "  %s.\n", pinHub(ctx, i.Flags, o.Hub))
	}
	if slices.ContainsFunc(p.Changes, func(c install.Change) bool { return c.HasChanges() }) && !i.dryRun {
		fmt.Fprintln(std.Err, "  hookback doctor checks the installation; hookback uninstall removes it.")
	}
	return status
}

// options validates the flags and returns the install options.
func (i *installFlags) options(m install.Machine, env func(string) string) (o install.Options, err error) {
	if len(i.Positional) > 0 {
		return o, fmt.Errorf("install takes flags only, not %q; name agents with --agent", i.Positional[0])
	}
	o = install.Options{Scope: install.Scope(i.scope), Mode: install.Mode(i.mode), Force: i.force, Wake: i.wake}
	if o.Agents, err = i.selectedAgents(m); err != nil {
		return o, err
	}
	if o.Hub = i.Hub; o.Hub == "" && o.Scope != install.Project {
		o.Hub, _, _ = strings.Cut(i.HubAddress(), ",")
	}
	if i.IsSet("known-hubs") {
		if o.KnownHubs, err = filepath.Abs(i.KnownHubs); err != nil {
			return o, err
		}
	}
	if o.Hub, err = settingsHubAddress(o.Hub); err != nil {
		return o, err
	}
	o.Binary, err = i.programPath(env)
	return o, err
}

// selectedAgents returns the agents of --agent without duplicates. auto, also the default,
// stands for all detected agents that have settings of the scope.
func (i *installFlags) selectedAgents(m install.Machine) (names []string, err error) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range strings.Split(strings.Join(i.agents, ","), ",") {
		switch name = strings.TrimSpace(name); name {
		case "", "auto":
			for _, found := range install.Detect(m) {
				if s := install.Scope(i.scope); s != install.Local || install.SupportsScope(found.Agent, s) {
					add(found.Agent)
				}
			}
		case "claude":
			add("claude-code")
		default:
			if !slices.Contains(install.AgentNames(), name) {
				return nil, fmt.Errorf("unknown agent %q; the agents are auto, %s", name, strings.Join(install.AgentNames(), ", "))
			}
			add(name)
		}
	}
	return names, nil
}

// settingsHubAddress normalizes a hub address for settings. Addresses with a password are
// refused, because settings files are not secret.
func settingsHubAddress(address string) (string, error) {
	address = strings.TrimRight(strings.TrimSpace(address), "/")
	if address == "" {
		return "", nil
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	if !regexp.MustCompile(`^https?://[^/@?#'"\s]+(/[^@?#'"\s]*)?$`).MatchString(address) && !regexp.MustCompile(`^unix:///[^@?#'"\s]+$`).MatchString(address) {
		return "", fmt.Errorf("%q is not a valid hub address for settings, such as http://10.0.0.7:4000; set an address with a password in HOOKBACK_URL", address)
	}
	return address, nil
}

var temporaryBuild = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[/\\]go-build[0-9]*[/\\]`) })

// programPath returns the absolute path of hookback for the settings. It prefers a symbolic
// link on the PATH that leads to this program, because the links of package managers
// survive an upgrade and their targets do not.
func (i *installFlags) programPath(env func(string) string) (string, error) {
	path := i.binary
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("locate this program: %w; set --binary", err)
		}
		path = self
		if linked, err := coverage.LookPath(env, "hookback"); err == nil && sameFile(linked, self) {
			path = linked
		}
	}
	if temporaryBuild().MatchString(path) {
		return "", errors.New("this program is a temporary build of go run; run go install ./agentclient/cmd/hookback, then hookback install")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if i.managed != "" && i.binary != "" { // it is a path of another machine
		return path, nil
	}
	if info, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("--binary: %w", err)
	} else if info.IsDir() {
		return "", fmt.Errorf("--binary: %s is a directory", path)
	}
	return path, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// apply prints or carries out the plan, and prints the result for each file.
func (i *installFlags) apply(p *install.Plan, std cli.Streams) (status int) {
	messages := std.Out
	if i.dryRun && i.verbose {
		messages = std.Err // stdout is for the diff
	}
	failed := map[string]error{}
	if !i.dryRun {
		for _, f := range p.Apply() {
			if f.File == "" {
				return std.PrintError("%v", f.Err)
			}
			failed[f.File] = f.Err
		}
	}
	p.Changes = slices.DeleteFunc(p.Changes, func(c install.Change) bool {
		err := failed[c.File]
		if err != nil {
			p.Problems = append(p.Problems, install.FileError{Agent: c.Agent, File: c.File, Err: err})
		}
		return err != nil
	})
	for all := p.Changes; len(all) > 0; {
		n := i.groupSize(all)
		i.printGroup(all[:n], messages, std.Out)
		all = all[n:]
	}
	for _, f := range p.Problems {
		text := strings.TrimPrefix(f.Error(), install.AgentTitle(f.Agent)+": ")
		fmt.Fprintf(std.Err, "✗ %-18s %s\n", install.AgentTitle(f.Agent),
			strings.ReplaceAll(text, i.home+string(filepath.Separator), "~"+string(filepath.Separator)))
		status = cli.ExitProblem
	}
	return status
}

// groupSize returns how many changes, from the first, share one output line. They belong to one
// agent and one directory and have the same result; Cline, for example, has ten files.
func (i *installFlags) groupSize(all []install.Change) (n int) {
	first := &all[0]
	for n = 1; n < len(all) && len(first.Notes) == 0; n++ {
		c := &all[n]
		if c.Agent != first.Agent || filepath.Dir(c.File) != filepath.Dir(first.File) ||
			i.resultText(c) != i.resultText(first) || len(c.Notes) > 0 {
			break
		}
	}
	return n
}

// printGroup prints the result for a group of files.
func (i *installFlags) printGroup(all []install.Change, messages, diff io.Writer) {
	c := &all[0]
	for k := range all {
		if i.dryRun && i.verbose {
			fmt.Fprint(diff, all[k].Diff())
		}
	}
	if c.HasChanges() || !i.quiet {
		name, result := abbreviateHome(i.home, c.File), i.resultText(c)
		if len(all) > 1 {
			name, result = abbreviateHome(i.home, filepath.Dir(c.File)), fmt.Sprintf("%s (%d files)", result, len(all))
		}
		fmt.Fprintf(messages, "✓ %-18s %s: %s\n", c.Title, name, result)
	}
	for _, s := range c.Notes {
		fmt.Fprintf(messages, "  ! %s\n", s)
	}
}

// resultText returns the result for one file as text, such as "written".
func (i *installFlags) resultText(c *install.Change) string {
	word := "changed"
	switch {
	case !c.HasChanges():
		return "up to date"
	case c.Delete:
		word = "deleted"
	case !c.Exists:
		word = "written"
	}
	if i.dryRun {
		return "would be " + word
	}
	return word
}

// abbreviateHome replaces the home directory at the start of path by ~.
func abbreviateHome(home, path string) string {
	if rest, below := strings.CutPrefix(path, home+string(filepath.Separator)); below {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// printDetected prints where each chosen agent was found.
func printDetected(w io.Writer, m install.Machine, o install.Options) {
	for _, f := range install.Detect(m) {
		if !slices.Contains(o.Agents, f.Agent) {
			continue
		}
		var where []string
		for _, path := range []string{f.Dir, f.Program} {
			if path != "" {
				where = append(where, abbreviateHome(m.Home, path))
			}
		}
		fmt.Fprintf(w, "  %-18s found: %s\n", f.Title, strings.Join(where, ", "))
	}
}
