// Command hookback asks a person from a script or a hook, and sends events.
//
//	hookback ask "May I delete ./build?" && rm -r ./build
//
// It exits 0 when the answer is a yes, a text or a choice, which it prints; 1
// when it is a no; 2 when there is no answer, and says why on stderr.
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
	exitYes      = 0
	exitNo       = 1
	exitNoAnswer = 2
)

func main() {
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

// complain says what went wrong and returns the status for it.
func (s streams) complain(format string, args ...any) int {
	fmt.Fprintf(s.err, "hookback: "+format+"\n", args...)
	return exitNoAnswer
}

const usage = `hookback asks a person and waits for the answer, through a Hookback hub.

  hookback ask "May I delete ./build?"       a yes or a no
  hookback ask "Which one?" --choice a --choice b
  hookback ask "Your name?" --text
  hookback send < event.json                 store one event
  hookback version

hookback ask --help and hookback send --help show the flags.

Exit status: 0 approved or answered (the answer is on stdout), 1 denied,
2 nobody answered, no hub, or wrong usage (the reason is on stderr).

The hub is looked for at HOOKBACK_URL, else at http://127.0.0.1:4000.
`

// run is the whole program.
func run(ctx context.Context, args []string, env func(string) string, std streams) int {
	if len(args) == 0 {
		fmt.Fprint(std.err, usage)
		return exitNoAnswer
	}
	switch verb, rest := args[0], args[1:]; verb {
	case "ask":
		return runAsk(ctx, rest, env, std)
	case "send":
		return runSend(ctx, rest, env, std)
	case "version", "-version", "--version":
		fmt.Fprintln(std.out, version())
		return exitYes
	case "help", "-h", "-help", "--help":
		fmt.Fprint(std.out, usage)
		return exitYes
	default:
		return std.complain("there is no %q; it is ask, send, version or help", verb)
	}
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
