package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/install"
)

const installHelp = `hookback install [flags]

Writes Hookback into the settings of the coding agents on this machine, as their
hook. It adds its own entries and changes nothing else: comments, order, indentation
and other people's hooks stay as they are. Doing it again changes nothing, or brings
its entries up to date. hookback uninstall takes them out again.

--mode gate (the default) also asks people: the agent's own permission prompts come
to Hookback, and what hookback.json says a person must decide. --mode observe sends
events and never answers.

--scope project writes the project's shared settings: the command is hookback on the
PATH, and does nothing for those who don't have it.

A copy of each file as it was is kept with the state of the program
(~/.local/state/hookback/backups on Linux), the last five of each.

Exit status: 0 done, 1 something was left alone and why is on stderr, 2 wrong usage.
`

// installFlags is the flags of install and uninstall.
type installFlags struct {
	*flags
	agents      stringList
	scope, mode string
	binary      string
	dryRun      bool
	force       bool
	quiet       bool   // says nothing of what stays as it is
	home        string // is written ~
}

func (i *installFlags) addCommonFlags(f *flags) {
	i.flags = f
	f.Var(&i.agents, "agent", "only this agent, by `name`; give it once for each: auto, "+strings.Join(install.Names(), ", "))
	f.BoolVar(&i.dryRun, "dry-run", false, "show what would change, and write nothing")
	f.BoolVar(&i.force, "force", false, "also entries that were changed by hand")
}

// newBareFlags are flags without those of ask and send.
func newBareFlags(name, help string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), help: help}
	f.SetOutput(io.Discard)
	return f
}

func runInstall(_ context.Context, args []string, env func(string) string, std streams) int {
	i := &installFlags{}
	i.addCommonFlags(newBareFlags("install", installHelp))
	i.StringVar(&i.scope, "scope", "user", "whose settings, a `scope`: user, project, or local (the project's that aren't shared; Claude Code only)")
	i.StringVar(&i.mode, "mode", "gate", "what it may do, a `mode`: gate or observe")
	i.StringVar(&i.hub, "hub", "", "the hub's `address`; default: HOOKBACK_URL where it is not the usual one")
	i.StringVar(&i.binary, "binary", "", "the `path` of hookback to write; default: this program's")
	if status, done := i.parse(args, std); done {
		return status
	}
	m, err := newMachine(env)
	if err != nil {
		return std.printError("%v", err)
	}
	o, err := i.options(m, env)
	if err != nil {
		return std.printError("%v", err)
	}
	if len(o.Agents) == 0 {
		return std.printError("no coding agent was found here; name one with --agent: %s", strings.Join(install.Names(), ", "))
	}
	if i.home = m.Home; i.dryRun {
		printDetected(std.err, m, o)
	}
	p, err := install.Install(m, o)
	if err != nil {
		return std.printError("%v", err)
	}
	status := i.apply(p, std)
	if o.Mode == install.Gate && !i.dryRun && !hasPolicyFile(m.Dir, env) {
		p.Notes = append(p.Notes, "There is no hookback.json, so only the agents' own permission prompts come to Hookback; hookback policy init writes one")
	}
	for _, note := range slices.Compact(slices.Sorted(slices.Values(p.Notes))) {
		fmt.Fprintf(std.err, "  %s.\n", note)
	}
	if slices.ContainsFunc(p.Changes, func(c install.Change) bool { return c.HasChanges() }) && !i.dryRun {
		fmt.Fprintln(std.err, "  hookback doctor shows whether it works; hookback uninstall takes it out again.")
	}
	return status
}

// options checks the flags.
func (i *installFlags) options(m install.Machine, env func(string) string) (o install.Options, err error) {
	if len(i.positional) > 0 {
		return o, fmt.Errorf("install takes flags only, not %q; name agents with --agent", i.positional[0])
	}
	o = install.Options{Scope: install.Scope(i.scope), Mode: install.Mode(i.mode), Force: i.force}
	if o.Agents, err = i.selectedAgents(m); err != nil {
		return o, err
	}
	if o.Hub = i.hub; o.Hub == "" && o.Scope != install.Project {
		o.Hub, _, _ = strings.Cut(env("HOOKBACK_URL"), ",")
	}
	if o.Hub, err = settingsHubAddress(o.Hub); err != nil {
		return o, err
	}
	o.Binary, err = i.programPath(env)
	return o, err
}

// selectedAgents are the agents that --agent names; auto and none are those that are here.
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
				if s := install.Scope(i.scope); s != install.Local || install.Has(found.Agent, s) {
					add(found.Agent)
				}
			}
		case "claude":
			add("claude-code")
		default:
			if !slices.Contains(install.Names(), name) {
				return nil, fmt.Errorf("there is no agent %q; it is auto, %s", name, strings.Join(install.Names(), ", "))
			}
			add(name)
		}
	}
	return names, nil
}

// settingsHubAddress is an address for settings: empty where it is the usual one.
func settingsHubAddress(address string) (string, error) {
	address = strings.TrimRight(strings.TrimSpace(address), "/")
	if address == "" {
		return "", nil
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	if !regexp.MustCompile(`^https?://[^/@?#'"\s]+(/[^@?#'"\s]*)?$`).MatchString(address) {
		return "", fmt.Errorf("%q is no address of a hub for settings, such as http://10.0.0.7:4000; one with a password belongs into HOOKBACK_URL", address)
	}
	if address == agentclient.DefaultHub || address == "http://localhost:4000" {
		return "", nil
	}
	return address, nil
}

var temporaryBuild = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[/\\]go-build[0-9]*[/\\]`) })

// programPath is the path of hookback that is written. A path that leads here through
// a link, as package managers make them, outlives an upgrade; the file behind it
// does not.
func (i *installFlags) programPath(env func(string) string) (string, error) {
	path := i.binary
	if path == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("where this program is can't be told (%w); give --binary", err)
		}
		path = self
		if linked, err := lookPath(env, "hookback"); err == nil && sameFile(linked, self) {
			path = linked
		}
	}
	if temporaryBuild().MatchString(path) {
		return "", errors.New("this program is a temporary build of go run, and gone in a moment; go install ./agentclient/cmd/hookback, then run hookback install")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
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

// apply shows the plan, or does it, and says what became of each file.
func (i *installFlags) apply(p *install.Plan, std streams) (status int) {
	messages := std.out
	if i.dryRun {
		messages = std.err // the diff has stdout to itself
	}
	failed := map[string]error{}
	if !i.dryRun {
		for _, f := range p.Apply() {
			if f.File == "" {
				return std.printError("%v", f.Err)
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
		i.printGroup(all[:n], messages, std.out)
		all = all[n:]
	}
	for _, f := range p.Problems {
		text := strings.TrimPrefix(f.Error(), install.Title(f.Agent)+": ")
		fmt.Fprintf(std.err, "✗ %-18s %s\n", install.Title(f.Agent), strings.ReplaceAll(text, i.home+string(filepath.Separator), "~"+string(filepath.Separator)))
		status = exitDenied
	}
	return status
}

// groupSize is how many changes from the first on are one to a person: an agent that wants
// a file for each event has eight of them.
func (i *installFlags) groupSize(all []install.Change) (n int) {
	first := &all[0]
	for n = 1; n < len(all) && len(first.Notes) == 0; n++ {
		c := &all[n]
		if c.Agent != first.Agent || filepath.Dir(c.File) != filepath.Dir(first.File) || i.resultText(c) != i.resultText(first) || len(c.Notes) > 0 {
			break
		}
	}
	return n
}

// printGroup says what became of files that are alike.
func (i *installFlags) printGroup(all []install.Change, messages, diff io.Writer) {
	c := &all[0]
	for k := range all {
		if i.dryRun {
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

// resultText says in a word what happened to a file.
func (i *installFlags) resultText(c *install.Change) string {
	word := "changed"
	switch {
	case !c.HasChanges():
		return "as it should be"
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

// newMachine is this computer, as the installation sees it.
func newMachine(env func(string) string) (m install.Machine, err error) {
	m = install.Machine{
		Home: cmp.Or(env("HOME"), env("USERPROFILE")), State: stateDir(env), Env: env, Now: time.Now,
		LookPath: func(name string) (string, error) { return lookPath(env, name) },
		Version:  programVersion, Windows: runtime.GOOS == "windows",
	}
	if !filepath.IsAbs(m.Home) || m.State == "" {
		return m, errors.New("this user has no home directory (HOME), so there are no settings")
	}
	m.Dir, err = os.Getwd()
	return m, err
}

// lookPath finds a program on the PATH of env.
func lookPath(env func(string) string, name string) (string, error) {
	for _, dir := range filepath.SplitList(env("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

var versionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+\.\d+`) })

// programVersion asks an agent which version it is, "" when it doesn't say soon.
func programVersion(program string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return versionNumber().FindString(string(out))
}

// hasPolicyFile reports whether any policy says which calls need a person.
func hasPolicyFile(dir string, env func(string) string) bool {
	files := append(agentclient.ProjectPolicyFiles(dir), agentclient.UserPolicyFile(env))
	return slices.ContainsFunc(files, func(file string) bool {
		_, err := os.Stat(file)
		return file != "" && err == nil
	})
}

// abbreviateHome shortens a path below the home.
func abbreviateHome(home, path string) string {
	if rest, below := strings.CutPrefix(path, home+string(filepath.Separator)); below {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// printDetected tells what was found of the chosen agents.
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
