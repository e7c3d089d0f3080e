package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/hookback/hookback/agentclient"
)

// flags holds the flags and positional arguments of one command; both can come in any order.
type flags struct {
	*flag.FlagSet
	help       string // printed before the list of flags
	positional []string

	hub, app, session string
	knownHubs         string
	unsigned          bool
	env               func(string) string
}

// testHome names the variable with the home directory of a test. Only tests set it, and the
// linker in the program that they build: otherwise the environment does not select these files.
var testHome string

// accountFiles returns the files that replace the account's known hubs and policy, which is
// "" outside of tests.
func accountFiles(env func(string) string) (knownHubs, policy string) {
	if testHome == "" {
		return "", ""
	}
	dir := filepath.Join(cmp.Or(env(testHome), "/nonexistent"), ".config", "hookback")
	return filepath.Join(dir, "known_hubs"), filepath.Join(dir, agentclient.PolicyFileName)
}

// newFlags returns the flags of a command that uses a hub: --hub, --known-hubs, --app and
// --session.
func newFlags(name, help string, env func(string) string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), help: help}
	f.SetOutput(io.Discard) // parse reports errors, usage prints the help
	f.addHubFlags(env)
	f.StringVar(&f.app, "app", "", "the agent's `name`; default: the name of the working directory")
	f.StringVar(&f.session, "session", env("HOOKBACK_SESSION"), "the agent's session `id` (HOOKBACK_SESSION)")
	return f
}

// addHubFlags adds the flags that select the hub and the keys that it may have.
func (f *flags) addHubFlags(env func(string) string) {
	f.env = env
	f.StringVar(&f.hub, "hub", "", "the hub's `address`, or several separated by commas (default HOOKBACK_URL)")
	knownHubs, _ := accountFiles(env)
	f.StringVar(&f.knownHubs, "known-hubs", knownHubs, "the `file` with the trusted hubs; default: known_hubs in ~/.config/hookback")
}

// addUnsignedFlag adds --unsigned, for commands that wait for an answer.
func (f *flags) addUnsignedFlag() {
	f.BoolVar(&f.unsigned, "unsigned", false, "accept answers without a signature, for a version 1 server beside a trusted hub")
}

// parse accepts flags before, between and after positional arguments; -- ends the
// flags. If done, the caller must exit with status.
func (f *flags) parse(args []string, std streams) (status int, done bool) {
	for len(args) > 0 {
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			f.usage(std.out)
			return exitOK, true
		}
		if err != nil {
			return std.printError("%v; see hookback %s --help", err, f.Name()), true
		}
		rest := f.Args()
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" || len(rest) == 0 {
			f.positional = append(f.positional, rest...)
			return 0, false
		}
		f.positional, args = append(f.positional, rest[0]), rest[1:]
	}
	return 0, false
}

func (f *flags) usage(w io.Writer) {
	fmt.Fprint(w, f.help)
	heading := "\nFlags:\n"
	f.VisitAll(func(fl *flag.Flag) {
		fmt.Fprint(w, heading)
		heading = ""
		name, text := flag.UnquoteUsage(fl)
		fmt.Fprintf(w, "  --%-24s %s\n", strings.TrimSpace(fl.Name+" "+name), text)
	})
}

func (f *flags) options() agentclient.Options {
	o := agentclient.Options{SourceApp: f.app, SessionID: f.session, KnownHubs: f.knownHubs, Unsigned: f.unsigned, Env: f.env}
	if f.hub != "" {
		o.Hubs = strings.Split(f.hub, ",")
	}
	return o
}

// isSet reports whether the command line has a flag.
func (f *flags) isSet(name string) (set bool) {
	f.Visit(func(fl *flag.Flag) { set = set || fl.Name == name })
	return set
}

// hubs returns the addresses from --hub or HOOKBACK_URL.
func (f *flags) hubs() ([]string, error) { return agentclient.ParseHubs(f.hubAddress()) }

// hubAddress returns --hub, HOOKBACK_URL or the default address.
func (f *flags) hubAddress() string {
	return cmp.Or(f.hub, strings.TrimSpace(f.env("HOOKBACK_URL")), agentclient.DefaultHub)
}

// stringList is a flag that can be repeated.
type stringList []string

func (l *stringList) String() string { return strings.Join(*l, ", ") }

// Set appends value.
func (l *stringList) Set(value string) error {
	*l = append(*l, value)
	return nil
}
