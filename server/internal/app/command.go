package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/hookback/hookback/agentclient/coverage"
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
		cfg.Machine = coverage.Machine{Env: env}
		err = runCommand(ctx, cfg, rest, stdout)
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "hookback-server:", err)
		return 1
	}
	return 0
}

// subcommand is a command after the flags, or a flag that takes the place of one.
type subcommand struct {
	name    string
	operand string // FILE for any, alternatives separated by bars, or empty for none
	run     func(ctx context.Context, cfg Config, operand string, stdout io.Writer) error
	// reads is set if the command can neither change nor skip nor answer the requests for approval. A hub
	// reports every other call as a risk; package oversight has a copy, which a test compares.
	reads bool
}

var subcommands = []subcommand{
	{"-health", "", printHealth, true},
	{"-sign-in", "NAME", printSignInLink, false},
	{"backup", "FILE", backUp, false},
	{"rescue", "FILE", func(ctx context.Context, cfg Config, file string, stdout io.Writer) error {
		report, err := Rescue(ctx, cfg, file)
		_, _ = fmt.Fprint(stdout, report)
		return err
	}, false},
	{"check", "", func(ctx context.Context, cfg Config, _ string, stdout io.Writer) error {
		report, err := Check(ctx, cfg)
		_, _ = fmt.Fprint(stdout, report)
		return err
	}, true},
	{"key", "rotate|new", func(ctx context.Context, cfg Config, change string, stdout io.Writer) error {
		report, err := ChangeKey(ctx, cfg, change == "rotate")
		_, _ = fmt.Fprint(stdout, report)
		return err
	}, false},
}

// runCommand runs the hub or a subcommand.
func runCommand(ctx context.Context, cfg Config, args []string, stdout io.Writer) error {
	switch {
	case len(args) > 0:
	case cfg.Health:
		args = []string{"-health"}
	case cfg.SignIn != "":
		args = []string{"-sign-in", cfg.SignIn}
	default:
		a, err := New(ctx, cfg)
		if err != nil {
			return err
		}
		return a.Run(ctx)
	}
	operand := strings.Join(args[1:], " ")
	for _, c := range subcommands {
		if c.name == args[0] && len(args) <= 2 && c.accepts(operand) {
			return c.run(ctx, cfg, operand, stdout)
		}
	}
	return fmt.Errorf("unknown command %q: the commands are import, copy, backup FILE, rescue FILE, check, key rotate and key new; flags go before the command; -help lists all", strings.Join(args, " "))
}

func (c *subcommand) accepts(operand string) bool {
	switch c.operand {
	case "", "FILE", "NAME":
		return (operand == "") == (c.operand == "")
	default:
		return slices.Contains(strings.Split(c.operand, "|"), operand)
	}
}

func printHealth(ctx context.Context, cfg Config, _ string, stdout io.Writer) error {
	if err := CheckHealth(ctx, cfg); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(stdout, "ready")
	return nil
}

func printSignInLink(ctx context.Context, cfg Config, name string, stdout io.Writer) error {
	link, err := SignIn(ctx, cfg, name)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stdout, "Start the hub, then open this link within 15 minutes. It works once. If this is a file, the link is in it.\n\n  %s\n", link)
	return nil
}

func backUp(ctx context.Context, cfg Config, file string, stdout io.Writer) error {
	if err := Backup(ctx, cfg, file); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stdout, "Database copied to %s\nThe copy does not contain the hub's key. Keep a copy of %s in another place.\n", file, KeyFile(cfg))
	return nil
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
