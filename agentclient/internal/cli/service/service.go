// Package service is hookback service: it lets the operating system's service manager start the
// hub when the user signs in.
package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient/internal/atomicfile"
	"github.com/hookback/hookback/agentclient/internal/cli"
)

const help = `hookback service install | uninstall | status [flags] [-- SERVER-FLAGS]

Lets the system start the hub when you sign in, as your own account: a systemd user unit
on Linux, a launch agent on macOS, a scheduled task on Windows. SERVER-FLAGS are the
flags of hookback-server; hookback-server -help lists them.

install replaces an older unit of Hookback and starts the hub. uninstall stops the hub
and removes the unit; the database stays.

Exit status: 0 done, or the hub runs; 1 status: the hub does not run; 2 an error (the
reason is on stderr).
`

// commandTimeout limits each command of a service manager.
const commandTimeout = 30 * time.Second

// run is one run of the command.
type run struct {
	env    func(string) string
	std    cli.Streams
	unit   unit
	dryRun bool
	force  bool
}

// Run runs hookback service.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewBareFlags("service", help)
	r := &run{env: env, std: std}
	f.BoolVar(&r.dryRun, "dry-run", false, "print the unit and change nothing")
	f.BoolVar(&r.force, "force", false, "replace or remove a unit that Hookback did not write")
	if status, done := f.ParseArgs(args, std); done {
		return status
	}
	if len(f.Positional) == 0 {
		return std.PrintError("service needs install, uninstall or status; see hookback service --help")
	}
	action, serverFlags := f.Positional[0], f.Positional[1:]
	if action != "install" && len(serverFlags) > 0 {
		return std.PrintError("service %s takes no other arguments, not %q", action, serverFlags)
	}
	err := r.selectUnit(action, serverFlags)
	if err != nil {
		return std.PrintError("%v", err)
	}
	switch action {
	case "install":
		err = r.install(ctx)
	case "uninstall":
		err = r.uninstall(ctx)
	case "status":
		return r.status(ctx)
	default:
		return std.PrintError("service %q: must be install, uninstall or status", action)
	}
	if err != nil {
		return std.PrintError("%v", err)
	}
	return cli.ExitOK
}

// selectUnit sets the unit of this system. Only install needs its contents.
func (r *run) selectUnit(action string, serverFlags []string) error {
	var argv []string
	if action == "install" {
		server, err := FindServer(r.env)
		if err != nil {
			return err
		}
		argv = append([]string{server}, serverFlags...)
	}
	var err error
	r.unit, err = newUnit(r.env, argv)
	return err
}

// newUnit returns the unit of this system that runs argv.
func newUnit(env func(string) string, argv []string) (unit, error) {
	switch runtime.GOOS {
	case "windows":
		return newTask(env, argv)
	case "darwin":
		home := env("HOME")
		return newLaunchAgent(home, os.Getuid(), argv), requireHome(home)
	case "linux":
		return newSystemdUnit(env, argv)
	default:
		return unit{}, fmt.Errorf("no service manager is supported on %s; start the hub with hookback-server", runtime.GOOS)
	}
}

func (r *run) install(ctx context.Context) error {
	if r.dryRun {
		_, _ = fmt.Fprintf(r.std.Out, "# %s\n%s", r.unit.file, r.unit.content)
		return nil
	}
	if _, err := r.requireOwnUnit(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.requireManager(ctx); err != nil {
		return fmt.Errorf("%w; nothing was written. %s", err, r.unit.remedy)
	}
	if err := writeUnit(r.unit.file, r.unit.content); err != nil {
		return fmt.Errorf("write the unit: %w; nothing was changed", err)
	}
	for _, argv := range r.unit.start {
		if err := r.command(ctx, argv); err != nil {
			return fmt.Errorf("%w; the unit %s was written and is not active", err, r.unit.file)
		}
	}
	fmt.Fprintf(r.std.Out, "The hub runs, and starts when you sign in (%s).\n", r.unit.file)
	if r.unit.user != "" && !lingers(ctx, r.unit.user) {
		fmt.Fprintln(r.std.Out, "It stops when you sign out. To keep it running: loginctl enable-linger "+r.unit.user)
	}
	return nil
}

// Start starts the hub through its manager if Hookback is installed as a service. It returns the
// path of the unit, or "" if there is none that Hookback wrote.
func Start(ctx context.Context, env func(string) string) (file string, err error) {
	r := &run{env: env}
	if r.unit, err = newUnit(env, nil); err != nil {
		return "", nil //nolint:nilerr // a system without a service manager has no service
	}
	if _, err := r.requireOwnUnit(); err != nil {
		return "", nil //nolint:nilerr // not installed, or not by Hookback
	}
	for _, argv := range r.unit.start {
		if err := r.command(ctx, argv); err != nil {
			return r.unit.file, err
		}
	}
	return r.unit.file, nil
}

// WhileStopped stops the installed service, calls f and starts the service, also if f fails. It returns the
// path of the unit, or "" without a call of f if there is no service that Hookback wrote, or if it must run
// and does not. A unit with flags for another database is an error, because f uses the default one.
func WhileStopped(ctx context.Context, env func(string) string, mustRun bool, f func() error) (file string, err error) {
	r := &run{env: env}
	if r.unit, err = newUnit(env, nil); err != nil {
		return "", nil //nolint:nilerr // a system without a service manager has no service
	}
	content, err := r.requireOwnUnit()
	if err != nil {
		return "", nil //nolint:nilerr // not installed, or not by Hookback
	}
	runs := r.command(ctx, r.unit.status) == nil
	if mustRun && !runs {
		return "", nil
	}
	if bytes.Contains(content, []byte("-db")) {
		return r.unit.file, fmt.Errorf("the service has its own database (-db in %s). Stop it, and run hookback-server -sign-in NAME with the same flags", r.unit.file)
	}
	if runs {
		for _, argv := range r.unit.stop {
			if err := r.command(ctx, argv); err != nil {
				return r.unit.file, fmt.Errorf("%w; the service was not stopped", err)
			}
		}
	}
	err = f()
	ctx = context.WithoutCancel(ctx) // after Ctrl-C, too, the service has to run again
	for _, argv := range r.unit.start {
		if startErr := r.command(ctx, argv); startErr != nil {
			return r.unit.file, errors.Join(err, fmt.Errorf("%w; the service is stopped, start it with hookback up", startErr))
		}
	}
	return r.unit.file, err
}

func (r *run) uninstall(ctx context.Context) error {
	content, err := r.requireOwnUnit()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fmt.Fprintln(r.std.Out, "Nothing to remove: Hookback is not installed as a service.")
		return nil
	case err != nil:
		return err
	case r.dryRun:
		_, _ = fmt.Fprintf(r.std.Out, "# would be removed: %s\n%s", r.unit.file, content)
		return nil
	}
	if err := r.requireManager(ctx); err != nil {
		return fmt.Errorf("%w; the unit %s stays. %s", err, r.unit.file, r.unit.remedy)
	}
	for _, argv := range r.unit.stop {
		if err := r.command(ctx, argv); err != nil {
			return fmt.Errorf("%w; the unit stays", err)
		}
	}
	if err := os.Remove(r.unit.file); err != nil {
		return fmt.Errorf("remove the unit: %w", err)
	}
	fmt.Fprintln(r.std.Out, "The service was removed. The database stays; hookback-server -help names its place.")
	return nil
}

func (r *run) status(ctx context.Context) int {
	if _, err := r.requireOwnUnit(); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(r.std.Out, "Hookback is not installed as a service. Install it with: hookback service install")
		return cli.ExitProblem
	} else if err != nil {
		return r.std.PrintError("%v", err)
	}
	err := r.command(ctx, r.unit.status)
	switch {
	case err == nil:
		fmt.Fprintf(r.std.Out, "The hub runs (%s).\n", r.unit.file)
		return cli.ExitOK
	case errors.As(err, new(*exec.ExitError)):
		fmt.Fprintf(r.std.Out, "The hub is installed as a service (%s) and does not run.\n", r.unit.file)
		return cli.ExitProblem
	default:
		return r.std.PrintError("%v", err)
	}
}

// requireOwnUnit returns the installed unit. It fails if another program or person wrote it.
func (r *run) requireOwnUnit() ([]byte, error) {
	unit, err := os.ReadFile(r.unit.file)
	if err != nil {
		return nil, err
	}
	if !r.force && !bytes.Contains(unit, []byte(marker)) {
		return nil, fmt.Errorf("%s was not written by hookback; move it away, or repeat with --force", r.unit.file)
	}
	return unit, nil
}

// writeUnit replaces file atomically.
func writeUnit(file string, unit []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a unit has no secrets
		return err
	}
	return atomicfile.Replace(file, unit, 0o644)
}

// requireManager returns an error unless the service manager serves this account.
func (r *run) requireManager(ctx context.Context) error {
	if r.unit.reach == nil {
		return nil
	}
	if err := r.command(ctx, r.unit.reach); err != nil {
		return fmt.Errorf("the service manager does not serve this account, as in a container (%w)", err)
	}
	return nil
}

// command runs a command of the service manager. Its error contains the command's output.
func (r *run) command(ctx context.Context, argv []string) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput() //nolint:gosec // fixed commands of the manager
	if err == nil {
		return nil
	}
	if text := strings.TrimSpace(string(out)); text != "" {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, text)
	}
	return fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
}
