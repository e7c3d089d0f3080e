// Command server is the Hookback hub: agents post events and questions, people answer in
// the dashboard, and the hub calls the agents back.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/hookback/hookback/server/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills the process
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is main without process state. It returns the exit code.
func run(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 1 && (args[0] == "-version" || args[0] == "--version") {
		_, _ = fmt.Fprintln(stdout, version())
		return 0
	}
	cfg, rest, err := app.ParseFlags(args, env, stdout)
	if errors.Is(err, app.ErrHelp) {
		return 0
	}
	if err == nil {
		cfg.Version, cfg.Stdout, cfg.Stderr = version(), stdout, stderr
		err = runCommand(ctx, cfg, rest, stdout)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "hookback-server:", err)
		return 1
	}
	return 0
}

// runCommand runs the hub or a subcommand.
func runCommand(ctx context.Context, cfg app.Config, args []string, stdout io.Writer) error {
	switch {
	case len(args) == 0 && cfg.SignIn != "":
		link, err := app.SignIn(ctx, cfg, cfg.SignIn)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(stdout, "Start the hub, then open this link within 15 minutes. It works once. If this is a file, the link is in it.\n\n  %s\n", link)
		return nil
	case len(args) == 0:
		a, err := app.New(ctx, cfg)
		if err != nil {
			return err
		}
		return a.Run(ctx)
	case len(args) == 2 && args[0] == "backup":
		if err := app.Backup(ctx, cfg, args[1]); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(stdout, "Database copied to %s\nThe copy does not contain the hub's key. Keep a copy of %s in another place.\n", args[1], app.KeyFile(cfg))
		return nil
	case len(args) == 2 && args[0] == "rescue":
		report, err := app.Rescue(ctx, cfg, args[1])
		_, _ = fmt.Fprint(stdout, report)
		return err
	case len(args) == 1 && args[0] == "check":
		report, err := app.Check(ctx, cfg)
		_, _ = fmt.Fprint(stdout, report)
		return err
	case len(args) == 2 && args[0] == "key" && (args[1] == "rotate" || args[1] == "new"):
		report, err := app.ChangeKey(ctx, cfg, args[1] == "rotate")
		_, _ = fmt.Fprint(stdout, report)
		return err
	default:
		return fmt.Errorf("unknown command %q: the commands are backup FILE, rescue FILE, check, key rotate and key new; flags go before the command; -help lists all", strings.Join(args, " "))
	}
}

// version returns the module version or the VCS revision of the build.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "dev-" + s.Value[:12]
		}
	}
	return "dev"
}
