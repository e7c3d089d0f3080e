package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/policy"
)

// Flags holds the flags and positional arguments of one command; both can come in any order.
type Flags struct {
	*flag.FlagSet
	help       string // printed before the list of flags
	Positional []string

	Hub, App, Session string
	KnownHubs         string
	Unsigned          bool
	Env               func(string) string
}

// TestHome names the variable with the home directory of a test. Only tests set it, and the
// linker in the program that they build: otherwise the environment does not select these files.
var TestHome string

// AccountHome returns the home directory of the account, or "". The environment does not select it.
func AccountHome(env func(string) string) string {
	if TestHome != "" {
		return env(TestHome)
	}
	home, err := account.Home()
	if err != nil {
		return ""
	}
	return home
}

// AccountFiles returns the files that replace the account's known hubs and policy, which are
// "" outside of tests.
func AccountFiles(env func(string) string) (knownHubs, policyFile string) {
	if TestHome == "" {
		return "", ""
	}
	dir := filepath.Join(cmp.Or(env(TestHome), "/proc/nonexistent"), ".config", "hookback") // not even root can create it
	return filepath.Join(dir, "known_hubs"), filepath.Join(dir, policy.FileName)
}

// UserPolicySource locates the policies that apply to this user in dir.
func UserPolicySource(env func(string) string, dir string) policy.Source {
	_, file := AccountFiles(env)
	return policy.Source{Dir: dir, UserFile: cmp.Or(file, policy.UserFile()), Env: env}
}

// MayHavePolicy reports whether a policy file exists, or may exist and is unreadable.
func MayHavePolicy(source policy.Source) bool {
	return slices.ContainsFunc(source.Files(), func(file string) bool {
		_, err := os.Stat(file)
		return !errors.Is(err, fs.ErrNotExist)
	})
}

// NewBareFlags returns the flags of a command without --hub, --app and --session.
func NewBareFlags(name, help string) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), help: help}
	f.SetOutput(io.Discard) // ParseArgs reports errors, PrintUsage prints the help
	return f
}

// NewFlags returns the flags of a command that uses a hub: --hub, --known-hubs, --app and
// --session.
func NewFlags(name, help string, env func(string) string) *Flags {
	f := NewBareFlags(name, help)
	f.AddHubFlags(env)
	f.StringVar(&f.App, "app", "", "the agent's `name`; default: the name of the working directory")
	f.StringVar(&f.Session, "session", env("HOOKBACK_SESSION"), "the agent's session `id` (HOOKBACK_SESSION)")
	return f
}

// AddHubFlags adds the flags that select the hub and the keys that it may have.
func (f *Flags) AddHubFlags(env func(string) string) {
	f.Env = env
	f.StringVar(&f.Hub, "hub", "", "the hub's `address`, or several separated by commas (default HOOKBACK_URL)")
	knownHubs, _ := AccountFiles(env)
	f.StringVar(&f.KnownHubs, "known-hubs", knownHubs, "the `file` with the trusted hubs; default: known_hubs in ~/.config/hookback")
}

// AddUnsignedFlag adds --unsigned, for commands that wait for an answer.
func (f *Flags) AddUnsignedFlag() {
	f.BoolVar(&f.Unsigned, "unsigned", false, "accept answers without a signature, for a version 1 server beside a trusted hub")
}

// ParseArgs parses the command line. If done, the caller must exit with status.
func (f *Flags) ParseArgs(args []string, std Streams) (status int, done bool) {
	helpShown, err := f.ParseOrHelp(args, std.Out)
	if err != nil {
		return std.PrintError("%v; see hookback %s --help", err, f.Name()), true
	}
	return ExitOK, helpShown
}

// ParseFlags is ParseArgs for a command without positional arguments.
func (f *Flags) ParseFlags(args []string, std Streams) (status int, done bool) {
	status, done = f.ParseArgs(args, std)
	if !done && len(f.Positional) > 0 {
		return std.PrintError("%s takes flags only, not %q", f.Name(), f.Positional[0]), true
	}
	return status, done
}

// ParseOrHelp accepts flags before, between and after positional arguments; -- ends the
// flags. helpShown reports whether it printed the help instead.
func (f *Flags) ParseOrHelp(args []string, w io.Writer) (helpShown bool, err error) {
	for len(args) > 0 {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			f.printUsage(w)
			return true, nil
		} else if err != nil {
			return false, err
		}
		rest := f.Args()
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" || len(rest) == 0 {
			f.Positional = append(f.Positional, rest...)
			return false, nil
		}
		f.Positional, args = append(f.Positional, rest[0]), rest[1:]
	}
	return false, nil
}

func (f *Flags) printUsage(w io.Writer) {
	fmt.Fprint(w, f.help)
	heading := "\nFlags:\n"
	f.VisitAll(func(fl *flag.Flag) {
		fmt.Fprint(w, heading)
		heading = ""
		name, text := flag.UnquoteUsage(fl)
		fmt.Fprintf(w, "  --%-24s %s\n", strings.TrimSpace(fl.Name+" "+name), text)
	})
}

// Options returns the options of a client for the selected hubs.
func (f *Flags) Options() agentclient.Options {
	o := agentclient.Options{
		SourceApp: f.App, SessionID: f.Session, KnownHubs: f.KnownHubs, RememberHubs: true, Unsigned: f.Unsigned, Env: f.Env,
	}
	if f.Hub != "" {
		o.Hubs = strings.Split(f.Hub, ",")
	}
	return o
}

// IsSet reports whether the command line has a flag.
func (f *Flags) IsSet(name string) (set bool) {
	f.Visit(func(fl *flag.Flag) { set = set || fl.Name == name })
	return set
}

// Hubs returns the addresses from --hub or HOOKBACK_URL.
func (f *Flags) Hubs() ([]string, error) { return agentclient.ParseHubs(f.HubAddress()) }

// HubAddress returns --hub, HOOKBACK_URL or the default address.
func (f *Flags) HubAddress() string {
	return cmp.Or(f.Hub, strings.TrimSpace(f.Env("HOOKBACK_URL")), agentclient.DefaultHub)
}

// ListVar adds a flag that can be repeated.
func (f *Flags) ListVar(list *[]string, name, usage string) {
	f.Func(name, usage, func(value string) error { *list = append(*list, value); return nil })
}
