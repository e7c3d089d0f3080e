package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/hookback/hookback/agentclient"
)

// flags holds the flags and positional arguments of one command; both can come in any order.
type flags struct {
	*flag.FlagSet
	help       string // printed before the list of flags
	positional []string

	hub, app, session string
}

// newFlags returns the flags of a command that uses a hub: --hub, --app and --session.
func newFlags(name, help string, env func(string) string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), help: help}
	f.SetOutput(io.Discard) // parse reports errors, usage prints the help
	f.StringVar(&f.hub, "hub", env("HOOKBACK_URL"), "the hub's `address`, or several separated by commas (HOOKBACK_URL)")
	f.StringVar(&f.app, "app", "", "the agent's `name`; default: the name of the working directory")
	f.StringVar(&f.session, "session", env("HOOKBACK_SESSION"), "the agent's session `id` (HOOKBACK_SESSION)")
	return f
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
	o := agentclient.Options{SourceApp: f.app, SessionID: f.session}
	if f.hub != "" {
		o.Hubs = strings.Split(f.hub, ",")
	}
	return o
}

// stringList is a flag that can be repeated.
type stringList []string

func (l *stringList) String() string { return strings.Join(*l, ", ") }

// Set appends value.
func (l *stringList) Set(value string) error {
	*l = append(*l, value)
	return nil
}
