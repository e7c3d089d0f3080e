package app

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

	"github.com/hookback/hookback/server/internal/importer"
)

// Main runs hookback-server with these arguments until a signal stops it, and returns its exit
// status. A second signal kills the process.
func Main(args []string, env func(string) string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Command(ctx, args, env, stdout, stderr)
}

// Command runs hookback-server with these arguments until ctx ends, and returns its exit status.
func Command(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	if len(args) == 1 && (args[0] == "-version" || args[0] == "--version") {
		_, _ = fmt.Fprintln(stdout, programVersion())
		return 0
	}
	if len(args) > 0 && args[0] == "import" {
		return importer.Run(ctx, args[1:], env, importer.Streams{In: os.Stdin, Out: stdout, Err: stderr})
	}
	if len(args) > 0 && args[0] == "copy" {
		return runCopy(ctx, args[1:], env, stdout, stderr)
	}
	cfg, rest, err := ParseFlags(args, env, stdout)
	if errors.Is(err, ErrHelp) {
		return 0
	}
	if err == nil {
		cfg.Version, cfg.Stdout, cfg.Stderr, cfg.NotifySocket = programVersion(), stdout, stderr, env("NOTIFY_SOCKET")
		err = runCommand(ctx, cfg, rest, stdout)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "hookback-server:", err)
		return 1
	}
	return 0
}

// runCommand runs the hub or a subcommand.
func runCommand(ctx context.Context, cfg Config, args []string, stdout io.Writer) error {
	switch {
	case len(args) == 0 && cfg.Health:
		if err := CheckHealth(ctx, cfg); err != nil {
			return err
		}
		_, _ = fmt.Fprintln(stdout, "ready")
		return nil
	case len(args) == 0 && cfg.SignIn != "":
		link, err := SignIn(ctx, cfg, cfg.SignIn)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(stdout, "Start the hub, then open this link within 15 minutes. It works once. If this is a file, the link is in it.\n\n  %s\n", link)
		return nil
	case len(args) == 0:
		a, err := New(ctx, cfg)
		if err != nil {
			return err
		}
		return a.Run(ctx)
	case len(args) == 2 && args[0] == "backup":
		if err := Backup(ctx, cfg, args[1]); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(stdout, "Database copied to %s\nThe copy does not contain the hub's key. Keep a copy of %s in another place.\n", args[1], KeyFile(cfg))
		return nil
	case len(args) == 2 && args[0] == "rescue":
		report, err := Rescue(ctx, cfg, args[1])
		_, _ = fmt.Fprint(stdout, report)
		return err
	case len(args) == 1 && args[0] == "check":
		report, err := Check(ctx, cfg)
		_, _ = fmt.Fprint(stdout, report)
		return err
	case len(args) == 2 && args[0] == "key" && (args[1] == "rotate" || args[1] == "new"):
		report, err := ChangeKey(ctx, cfg, args[1] == "rotate")
		_, _ = fmt.Fprint(stdout, report)
		return err
	default:
		return fmt.Errorf("unknown command %q: the commands are import, copy, backup FILE, rescue FILE, check, key rotate and key new; flags go before the command; -help lists all", strings.Join(args, " "))
	}
}

// programVersion returns the module version or the VCS revision of the build.
func programVersion() string {
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
