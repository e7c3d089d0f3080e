// Package up is hookback up and hookback server: it finds or starts the hub, opens the page signed
// in, and connects the agents on this machine.
package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/desktop"
	"github.com/hookback/hookback/agentclient/internal/cli/service"
)

const help = `hookback up [flags]

Starts the hub, or finds the one that runs, and opens its page signed in. Then it offers to
connect the coding agents on this machine, and to import the last 30 days of Claude Code sessions.

A hub that it starts runs until you press Ctrl-C; its log is hub.log in the state directory
(~/.local/state/hookback on Linux). A hub that is installed as a service is started through the
system's manager, and goes on. Without a terminal, it asks nothing and opens no browser.

Exit status: 0 the hub runs, or ran until Ctrl-C; 1 an agent was not connected; 2 an error
(the reason is on stderr).
`

// Run runs hookback up.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	s := &session{env: env, std: std, version: cli.Version(), interactive: cli.IsTerminal(std.In) && cli.IsTerminal(std.Out)}
	return s.run(ctx, args)
}

func (s *session) run(ctx context.Context, args []string) int {
	f := cli.NewBareFlags("up", help)
	f.IntVar(&s.port, "port", 4000, "the `port` of the hub on this machine")
	f.BoolVar(&s.noOpen, "no-open", false, "open no browser")
	f.BoolVar(&s.noWire, "no-wire", false, "connect no agents, import nothing")
	f.BoolVar(&s.yes, "yes", false, "connect the agents and import without asking")
	f.BoolVar(&s.test, "test", false, "send a test request; the page sends it if the hub runs already")
	f.BoolVar(&s.sign, "sign-in", false, "make a new sign-in link for --name; a hub that runs as a service is restarted")
	f.StringVar(&s.name, "name", accountName(), "your `name` on the page of a new hub; default: that of your account")
	if status, done := f.ParseArgs(args, s.std); done {
		return status
	}
	if len(f.Positional) > 0 {
		return s.std.PrintError("up takes flags only, not %q; the flags of hookback-server go to hookback server", f.Positional[0])
	}
	if s.port < 1 || s.port > 65535 {
		return s.std.PrintError("--port %d: must be from 1 to 65535", s.port)
	}
	return s.start(ctx)
}

// start uses the hub at the port, starts the service, or starts a hub.
func (s *session) start(ctx context.Context) int {
	found, err := desktop.Probe(ctx, s.url())
	switch {
	case ctx.Err() != nil:
		return cli.ExitOK
	case err == nil:
		return s.useRunning(ctx, found)
	case errors.Is(err, desktop.ErrForeign):
		return s.std.PrintError("port %d is in use by %s. Try: hookback up --port %d", s.port, cmp.Or(holder(s.port), "another program"), s.nextPort())
	}
	if s.sign {
		return s.signInToService(ctx, false)
	}
	unit, err := service.Start(ctx, s.env)
	switch {
	case err != nil:
		return s.std.PrintError("the service (%s) did not start: %v", unit, err)
	case unit == "":
		return s.startChild(ctx)
	}
	if found, err = waitReady(ctx, s.url()); err != nil {
		return s.std.PrintError("the service (%s) was started, but no hub answers at %s: %v. hookback service status shows its state; --port selects another port", unit, s.url(), err)
	}
	return s.useRunning(ctx, found)
}

// useRunning opens the page of a hub that runs already.
func (s *session) useRunning(ctx context.Context, found desktop.Hub) int {
	if s.sign {
		return s.signInToService(ctx, true)
	}
	if found.Version != s.version && found.Version != "" {
		s.std.PrintError("the hub is version %s, and this program %s; update the older one", found.Version, s.version)
	}
	fmt.Fprintf(s.std.Out, "The hub runs: %s\n", s.pageURL())
	page := s.pageURL()
	if s.test {
		page += "?test=1"
	}
	if !s.open(page) && s.test {
		fmt.Fprintf(s.std.Out, "Open %s to send the test request.\n", page)
	}
	status := s.connect(ctx, s.readLine())
	s.offerImport(ctx)
	return status
}

// signInToService makes a sign-in link while the service is stopped, starts it, and opens the page with the
// link. Without a service, it starts the hub as a child if no hub runs.
func (s *session) signInToService(ctx context.Context, runs bool) int {
	server, err := service.FindServer(s.env)
	if err != nil {
		return s.std.PrintError("%v", err)
	}
	var link string
	unit, err := service.WhileStopped(ctx, s.env, runs, func() (err error) {
		link, err = s.newSignInLink(ctx, server)
		return err
	})
	switch {
	case unit == "" && !runs:
		return s.startChild(ctx)
	case unit == "":
		return s.std.PrintError("the hub at %s runs in another terminal, and a sign-in link can be made only while it is stopped. Stop it with Ctrl-C there, then run hookback up --sign-in", s.pageURL())
	case err != nil:
		return s.std.PrintError("no sign-in link was made: %v", err)
	}
	if _, err := waitReady(ctx, s.url()); err != nil {
		return s.std.PrintError("the service (%s) was started again, but no hub answers at %s: %v. hookback service status shows its state", unit, s.url(), err)
	}
	fmt.Fprintf(s.std.Out, "The service was started: %s\n", s.pageURL())
	p := &page{session: s, dir: account.StateDir(s.env), link: link}
	p.open()
	defer p.close()
	return p.waitOpened(ctx)
}

// accountName returns the name of the account that runs the program, without the domain of Windows.
func accountName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username[strings.LastIndexByte(u.Username, '\\')+1:]
}
