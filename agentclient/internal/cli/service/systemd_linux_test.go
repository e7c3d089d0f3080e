package service

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
)

// desk is a machine whose systemctl and loginctl record their calls.
type desk struct {
	t    *testing.T
	home string
	env  map[string]string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, home: t.TempDir()}
	bin := filepath.Join(d.home, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	d.script("systemctl", `[ "$2" = show-environment ] && { [ ! -e "$(dirname "$0")/unreachable" ] || { echo "Failed to connect to bus" >&2; exit 1; }; exit; }
		echo "$*" >> "$(dirname "$0")/calls"; [ ! -e "$(dirname "$0")/fail" ] || { echo "Unit is masked" >&2; exit 1; }`)
	d.script("loginctl", `echo no`)
	d.script(ServerProgram, `exit 0`)
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	d.env = map[string]string{"HOME": d.home, "XDG_RUNTIME_DIR": "/run/user/1000", "USER": "ada", ServerVariable: filepath.Join(bin, ServerProgram)}
	return d
}

func (d *desk) script(name, body string) {
	d.t.Helper()
	require.NoError(d.t, os.WriteFile(filepath.Join(d.home, "bin", name), []byte("#!/bin/sh\n"+body+"\n"), 0o700)) //nolint:gosec // a program
}

func (d *desk) run(args ...string) (status int, out, errOut string) {
	d.t.Helper()
	var stdout, stderr bytes.Buffer
	status = Run(d.t.Context(), args, func(name string) string { return d.env[name] }, cli.Streams{Out: &stdout, Err: &stderr})
	return status, stdout.String(), stderr.String()
}

func (d *desk) calls() []string {
	b, _ := os.ReadFile(filepath.Join(d.home, "bin", "calls"))
	_ = os.Remove(filepath.Join(d.home, "bin", "calls"))
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func (d *desk) unit() string {
	return filepath.Join(d.home, ".config", "systemd", "user", "hookback.service")
}

func TestService_InstallsAndRemovesUnit(t *testing.T) {
	d := newDesk(t)
	status, out, _ := d.run("status")
	require.Equal(t, cli.ExitProblem, status)
	require.Contains(t, out, "not installed")

	status, out, errOut := d.run("install", "--dry-run", "--", "-addr", "127.0.0.1:4010")
	require.Zero(t, status, errOut)
	require.Contains(t, out, `"-addr" "127.0.0.1:4010"`)
	require.NoFileExists(t, d.unit())

	for range 2 { // it can be repeated
		status, out, errOut = d.run("install", "--", "-addr", "127.0.0.1:4010")
		require.Zero(t, status, errOut)
		require.Contains(t, out, "loginctl enable-linger ada")
		require.Equal(t, []string{"--user daemon-reload", "--user enable hookback.service", "--user restart hookback.service"}, d.calls())
	}
	unit, err := os.ReadFile(d.unit())
	require.NoError(t, err)
	require.Contains(t, string(unit), `ExecStart="`+d.env[ServerVariable]+`" "-addr" "127.0.0.1:4010"`)

	status, out, _ = d.run("status")
	require.Zero(t, status)
	require.Contains(t, out, "The hub runs")
	d.calls()

	status, out, errOut = d.run("uninstall")
	require.Zero(t, status, errOut)
	require.Contains(t, out, "The database stays")
	require.Equal(t, []string{"--user disable --now hookback.service"}, d.calls())
	require.NoFileExists(t, d.unit())
	status, out, _ = d.run("uninstall")
	require.Zero(t, status)
	require.Contains(t, out, "Nothing to remove")
}

func TestService_KeepsUnitOfOthers(t *testing.T) {
	d := newDesk(t)
	require.NoError(t, os.MkdirAll(filepath.Dir(d.unit()), 0o755))
	require.NoError(t, os.WriteFile(d.unit(), []byte("[Service]\nExecStart=/mine\n"), 0o600))
	for _, action := range []string{"install", "uninstall"} {
		status, _, errOut := d.run(action)
		require.Equal(t, cli.ExitError, status)
		require.Contains(t, errOut, "--force")
	}
	unit, err := os.ReadFile(d.unit())
	require.NoError(t, err)
	require.Equal(t, "[Service]\nExecStart=/mine\n", string(unit))
	status, _, errOut := d.run("install", "--force")
	require.Zero(t, status, errOut)
}

func TestService_ReportsErrors(t *testing.T) {
	d := newDesk(t)
	for _, args := range [][]string{{}, {"restart"}, {"status", "now"}, {"install", "--nonsense"}} {
		status, _, errOut := d.run(args...)
		require.Equal(t, cli.ExitError, status, args)
		require.NotEmpty(t, errOut, args)
	}
	require.NoError(t, os.WriteFile(filepath.Join(d.home, "bin", "fail"), nil, 0o600))
	status, _, errOut := d.run("install")
	require.Equal(t, cli.ExitError, status)
	require.Contains(t, errOut, "Unit is masked")
	require.Contains(t, errOut, "is not active")
	status, _, errOut = d.run("uninstall")
	require.Equal(t, cli.ExitError, status)
	require.Contains(t, errOut, "the unit stays")
	require.FileExists(t, d.unit())
	status, out, _ := d.run("status")
	require.Equal(t, cli.ExitProblem, status)
	require.Contains(t, out, "does not run")

	delete(d.env, "XDG_RUNTIME_DIR")
	status, _, errOut = d.run("install")
	require.Equal(t, cli.ExitError, status)
	require.Contains(t, errOut, "hookback-server")
	d.env["XDG_RUNTIME_DIR"], d.env[ServerVariable] = "/run/user/1000", "/nonexistent/hookback-server"
	status, _, errOut = d.run("install")
	require.Equal(t, cli.ExitError, status)
	require.Contains(t, errOut, ServerVariable)
}

// A container and WSL can have systemctl and no user manager.
func TestService_WritesNothingWithoutManager(t *testing.T) {
	d := newDesk(t)
	unreachable := filepath.Join(d.home, "bin", "unreachable")
	require.NoError(t, os.WriteFile(unreachable, nil, 0o600))
	status, _, errOut := d.run("install")
	require.Equal(t, cli.ExitError, status)
	for _, part := range []string{"Failed to connect to bus", "nothing was written", "hookback up", "wsl.conf", "enable-linger"} {
		require.Contains(t, errOut, part)
	}
	require.NoDirExists(t, filepath.Join(d.home, ".config"))
	status, _, errOut = d.run("uninstall")
	require.Zero(t, status, errOut)

	require.NoError(t, os.Remove(unreachable))
	status, _, errOut = d.run("install")
	require.Zero(t, status, errOut)
	require.NoError(t, os.WriteFile(unreachable, nil, 0o600))
	status, _, errOut = d.run("uninstall")
	require.Equal(t, cli.ExitError, status)
	require.Contains(t, errOut, "stays")
	require.FileExists(t, d.unit())
}

func TestFindServer_ListsPlaces(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := FindServer(func(string) string { return "" })
	require.ErrorContains(t, err, "PATH")
	require.ErrorContains(t, err, "go install")
}
