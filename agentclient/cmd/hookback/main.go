// Command hookback asks a person from a script or a hook, and sends events.
//
//	hookback ask "May I delete ./build?" && rm -r ./build
//
// It exits 0 when the answer is a yes, a text or a choice, which it prints; 1
// when it is a no; 2 when there is no answer, and says why on stderr; 3 when there is
// none in time and the run was to fail then.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// The exit statuses.
const (
	exitOK      = 0
	exitDenied  = 1
	exitError   = 2
	exitFailRun = 3 // ask --on-timeout fail_run, and nobody answered in time
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "hook" {
		os.Exit(hookProcess(os.Args[2:], os.Getenv, streams{os.Stdin, os.Stdout, os.Stderr}, os.Exit))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Getenv, streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(status)
}

// streams are the standard streams.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// printError says what went wrong and returns the status for it.
func (s streams) printError(format string, args ...any) int {
	fmt.Fprintf(s.err, "hookback: "+format+"\n", args...)
	return exitError
}

// command is one thing the program can do: its own --help says more than about.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, env func(string) string, std streams) int
}

// commands lists them in the order of the usage text.
var commands = []command{
	{"ask", "ask a person, and wait for the answer", runAsk},
	{"hook", "what a coding agent runs as its hook", runHook},
	{"install", "write it into the settings of the coding agents here", runInstall},
	{"uninstall", "take it out again", runUninstall},
	{"mcp", "speak the Model Context Protocol on stdin and stdout, for a hub", runMCP},
	{"policy", "which calls need a person: write, check and try the rules", runPolicy},
	{"doctor", "look whether it works here, and what to do where not", runDoctor},
	{"send", "store one event, from stdin or from flags", runSend},
	{"verify", "check the ledger of what was decided: nothing changed, nothing missing", runVerify},
	{"statusline", "Claude Code's status line, which also tells the hub the cost", runStatusline},
	{"version", "print the program's version", runVersion},
}

const usageHeader = `hookback asks a person and waits for the answer, through a Hookback hub.

  hookback ask "May I delete ./build?"       a yes or a no
  hookback ask "Which one?" --choice a --choice b
  hookback ask "Your name?" --text
  hookback send < event.json                 store one event

`

const usageFooter = `
hookback VERB --help shows a verb's flags.

Exit status of ask and send: 0 approved or answered (the answer is on stdout),
1 denied, 2 nobody answered, no hub, or wrong usage (the reason is on stderr),
3 nobody answered in time and --on-timeout fail_run was given: the run should stop.

The hub is looked for at HOOKBACK_URL, else at http://127.0.0.1:4000. Where it wants
to know who asks, HOOKBACK_TOKEN holds the token that its admin made; no settings file
ever does. SSL_CERT_FILE names a certificate authority of one's own.
`

func printUsage(w io.Writer) {
	fmt.Fprint(w, usageHeader)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-12s%s\n", c.name, c.summary)
	}
	fmt.Fprint(w, usageFooter)
}

// run is the whole program.
func run(ctx context.Context, args []string, env func(string) string, std streams) int {
	if len(args) == 0 {
		printUsage(std.err)
		return exitError
	}
	name := args[0]
	switch name {
	case "help", "-h", "-help", "--help":
		printUsage(std.out)
		return exitOK
	case "-version", "--version":
		name = "version"
	}
	for _, c := range commands {
		if c.name == name {
			return c.run(ctx, args[1:], env, std)
		}
	}
	return std.printError("there is no %q; hookback help lists what there is", name)
}

func runVersion(_ context.Context, _ []string, _ func(string) string, std streams) int {
	fmt.Fprintln(std.out, version())
	return exitOK
}

// version is what the Go toolchain stamped into the program.
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
