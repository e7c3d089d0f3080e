// Command hookback asks people for approval from scripts and agent hooks, and sends
// events to a hub.
//
//	hookback ask "May I delete ./build?" && rm -r ./build
//
// The exit status of ask is 0 for an approval, a text or a choice, which it prints; 1
// for a denial; 2 for no answer, with the reason on stderr; 3 for no answer in time
// with --on-timeout fail_run.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/ask"
	"github.com/hookback/hookback/agentclient/internal/cli/away"
	"github.com/hookback/hookback/agentclient/internal/cli/freeze"
	"github.com/hookback/hookback/agentclient/internal/cli/hookrun"
	"github.com/hookback/hookback/agentclient/internal/cli/mcp"
	"github.com/hookback/hookback/agentclient/internal/cli/pair"
	"github.com/hookback/hookback/agentclient/internal/cli/policycmd"
	"github.com/hookback/hookback/agentclient/internal/cli/service"
	"github.com/hookback/hookback/agentclient/internal/cli/setup"
	"github.com/hookback/hookback/agentclient/internal/cli/trust"
	"github.com/hookback/hookback/agentclient/internal/cli/up"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "hook" {
		os.Exit(hookrun.Process(os.Args[2:], os.Getenv, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Exit))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Getenv, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(status)
}

// command is one command of the program. summary is its line in the usage text.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, env func(string) string, std cli.Streams) int
	// reads lists the calls of the command that can neither change nor skip nor answer the requests for
	// approval, separated by semicolons: the words after the command, a . for none, a final … for any more,
	// and !flag for flags that they must not have. A hub reports every other call as a risk, so a new
	// command is one. server/internal/risk/oversight has a copy, which a test compares.
	reads string
}

// noOtherHub excludes the flags that make this account send its token to another hub, or trust one.
const noOtherHub = " … !hub !known-hubs"

// commands is in the order of the usage text.
var commands = []command{
	{"up", "start the hub, open its page and connect the agents on this machine", up.Run, ""},
	{"ask", "ask a person and wait for the answer", ask.Run, noOtherHub + " !unsigned !on-unreachable"},
	{"hook", "run as the hook of a coding agent", hookrun.Run, ""},
	{"wait", "wake an idle session of Claude Code when a person sends it a message", hookrun.Wait, ""},
	{"install", "add Hookback to the settings of the coding agents on this machine", setup.Install, "--dry-run … !dry-run"},
	{"uninstall", "remove Hookback from those settings", setup.Uninstall, "--dry-run … !dry-run"},
	{"trust", "trust a hub, so that its answers count on this account", trust.Run, "."},
	{"mcp", "serve the Model Context Protocol on stdin and stdout through a hub", mcp.Run, noOtherHub + " !unsigned"},
	{"policy", "define which calls need approval: write, check and test rules", policycmd.Run, "check …; test" + noOtherHub + "; init|add --help"},
	{"server", "run the hub with the flags of hookback-server", up.Server, ""},
	{"import", "import the sessions that Claude Code kept before its hooks were installed", up.Import, ""},
	{"service", "let the system start the hub when you sign in", service.Run, "status; install|uninstall|status --help"},
	{"pair", "make the hub reachable from your phone through Tailscale", pair.Run, ""},
	{"freeze", "stop agents at their next tool call, list freezes and lift them", freeze.Run, "--list" + noOtherHub},
	{"report", "print what happened while you were away", away.Run, noOtherHub},
	{"status", "print which agents run the gate, with a fix for each that does not", setup.Status, noOtherHub},
	{"doctor", "check the installation and suggest a fix for each problem", setup.Doctor, noOtherHub},
	{"send", "store one event, from stdin or from flags", ask.RunSend, noOtherHub},
	{"verify", "verify the audit log: no entry changed, no entry missing", trust.RunVerify, noOtherHub + " !forget"},
	{"receipt", "get or verify the signed proof of who approved a request", trust.RunReceipt, "verify …; get" + noOtherHub},
	{"version", "print the program's version", runVersion, "…"},
}

const usageHeader = `hookback asks a person through a Hookback hub and waits for the answer.

  hookback ask "May I delete ./build?"       approve or deny
  hookback ask "Which one?" --choice a --choice b
  hookback ask "Your name?" --text
  hookback send < event.json                 store one event

`

const usageFooter = `
hookback COMMAND --help lists the flags of a command.

Exit status of ask and send: 0 approved or answered (the answer is on stdout),
1 denied, 2 no answer, no hub or wrong usage (the reason is on stderr),
3 no answer in time with --on-timeout fail_run: the run should stop.

HOOKBACK_URL is the address of the hub, by default http://127.0.0.1:4000. If the hub
requires authentication, set HOOKBACK_TOKEN to a token from its admin; tokens are never
written to settings files. While this account trusts no hub (see hookback trust --help), a
hub at HOOKBACK_URL gets the token, and its answers count unsigned; but a hook, whose
environment a project can set, gives it neither. SSL_CERT_FILE names a private certificate
authority.
`

func printUsage(w io.Writer) {
	fmt.Fprint(w, usageHeader)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-12s%s\n", c.name, c.summary)
	}
	fmt.Fprint(w, usageFooter)
}

// run executes the program and returns its exit status.
func run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	if len(args) == 0 {
		printUsage(std.Err)
		return cli.ExitError
	}
	name := args[0]
	switch name {
	case "help", "-h", "-help", "--help":
		printUsage(std.Out)
		return cli.ExitOK
	case "-version", "--version":
		name = "version"
	}
	for _, c := range commands {
		if c.name == name {
			return c.run(ctx, args[1:], env, std)
		}
	}
	return std.PrintError("unknown command %q; hookback help lists the commands", name)
}

func runVersion(_ context.Context, _ []string, _ func(string) string, std cli.Streams) int {
	fmt.Fprintln(std.Out, version())
	return cli.ExitOK
}

// version returns the version that the Go toolchain stamped into the binary.
func version() string {
	v := "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "hookback " + v
	}
	if info.Main.Version != "" {
		v = info.Main.Version
	}
	return "hookback " + v + " " + info.GoVersion
}
