package scripts_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine is a directory of programs that is the whole PATH of a script.
type machine struct {
	t   *testing.T
	bin string
}

// newMachine returns a machine with the programs of every system, and an account with this user id.
func newMachine(t *testing.T, uid string) machine {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the scripts are for Linux and macOS")
	}
	m := machine{t, t.TempDir()}
	for _, name := range []string{"bash", "cat", "dirname", "basename", "readlink", "grep", "sort", "tail", "env"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(m.bin, name)))
	}
	m.program("id", "echo "+uid)
	return m
}

func (m machine) program(name, body string) {
	require.NoError(m.t, os.WriteFile(filepath.Join(m.bin, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755))
}

func (m machine) run(script string) (stdout, stderr string, status int) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(m.t.Context(), filepath.Join(m.bin, "bash"), script)
	cmd.Dir, cmd.Env = ".", []string{"PATH=" + m.bin}
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(m.t, err, &exit)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// packageScripts install one program of the system each.
var packageScripts = []struct{ script, program, pkg string }{
	{"chromium.sh", "chromium", "chromium"},
	{"postgres.sh", "initdb", "postgresql"},
}

func TestPackageScripts_FindWithoutRoot(t *testing.T) {
	t.Parallel()
	for _, s := range packageScripts {
		m := newMachine(t, "1000")
		m.program(s.program, "exit 1")
		out, errOut, status := m.run(s.script)
		require.Zero(t, status, errOut)
		require.Contains(t, out, m.bin)
		require.Empty(t, errOut)
	}
}

func TestPackageScripts_NameTheCommandWithoutRoot(t *testing.T) {
	t.Parallel()
	for _, s := range packageScripts {
		m := newMachine(t, "1000")
		m.program("apt-get", "echo apt-get ran")
		m.program("sudo", "exit 1") // asks for a password
		out, errOut, status := m.run(s.script)
		require.Equal(t, 1, status)
		require.Empty(t, out)
		require.Contains(t, errOut, "\n  sudo apt-get install --no-install-recommends "+s.pkg+"\n")
		require.NotContains(t, errOut, "apt-get ran")
	}
}

func TestPackageScripts_AnnounceAnInstallation(t *testing.T) {
	t.Parallel()
	for _, s := range packageScripts {
		for _, uid := range []string{"0", "1000"} {
			m := newMachine(t, uid)
			m.program("sudo", `shift; exec "$@"`)
			m.program("true", "")
			m.program("mkdir", "echo mkdir $@ >&2")
			m.program("tee", "cat >/dev/null; echo tee $@ >&2")
			m.program("apt-get", "echo apt-get $@; echo '#!/bin/sh' >"+filepath.Join(m.bin, s.program)+"; exec chmod +x "+filepath.Join(m.bin, s.program))
			chmod, err := exec.LookPath("chmod")
			require.NoError(t, err)
			require.NoError(t, os.Symlink(chmod, filepath.Join(m.bin, "chmod")))
			out, errOut, status := m.run(s.script)
			require.Zero(t, status, errOut)
			require.Equal(t, 1, strings.Count(out, "\n"), "the path only: %s", out)
			announcement, rest, found := strings.Cut(errOut, "\n")
			require.True(t, found)
			require.Contains(t, announcement, "is missing. Installing Debian's package, a download of ")
			require.Contains(t, rest, "apt-get install -q -y --no-install-recommends "+s.pkg)
		}
	}
}

func TestPackageScripts_FailedInstallationNamesTheCommand(t *testing.T) {
	t.Parallel()
	for _, s := range packageScripts {
		m := newMachine(t, "0")
		m.program("mkdir", "")
		m.program("tee", "cat >/dev/null")
		m.program("apt-get", "echo no network; exit 100")
		out, errOut, status := m.run(s.script)
		require.Equal(t, 1, status)
		require.Empty(t, out)
		require.Contains(t, errOut, "Repeat it by hand: apt-get install --no-install-recommends "+s.pkg+"\n")
	}
}

func TestNeeds_ListsWhatOnlyAPersonInstalls(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "1000")
	out, errOut, status := m.run("needs.sh")
	require.Equal(t, 1, status)
	require.Empty(t, out)
	for _, want := range []string{
		"make test needs these first:\n", "https://go.dev/dl\n", "https://nodejs.org/", "sudo apt-get install --no-install-recommends python3\n",
		"sudo apt-get install --no-install-recommends chromium\n", "sudo apt-get install --no-install-recommends postgresql\n",
	} {
		require.Contains(t, errOut, want)
	}
}

func TestNeeds_ListsWhatMakeTestInstalls(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "0")
	modules := t.TempDir()
	for _, name := range []string{"npm", "python3", "chromium", "initdb", "make"} {
		m.program(name, "")
	}
	m.program("go", `[ "$1" = list ] || echo `+modules)
	out, errOut, status := m.run("needs.sh")
	require.Zero(t, status, errOut)
	require.Regexp(t, `^make test will install:\n  golangci-lint .*\n  govulncheck .*\n`, out)

	// With the source of these programs, nothing is missing.
	for _, tool := range regexp.MustCompile(`go run (\S+)/cmd/\S+@(\S+)`).FindAllStringSubmatch(out, -1) {
		folder := filepath.Join(modules, "cache", "download", tool[1], "@v")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, tool[2]+".zip"), nil, 0o644))
	}
	out, errOut, status = m.run("needs.sh")
	require.Zero(t, status, errOut)
	require.Empty(t, out+errOut)

	m.program("go", `[ "$1" != list ] || { echo 'module lookup disabled by GOPROXY=off' >&2; exit 1; }; echo `+modules)
	m.program("make", "exit 1") // npm's file is older than package-lock.json
	m.program("apt-get", "")
	require.NoError(t, os.Remove(filepath.Join(m.bin, "chromium")))
	out, errOut, status = m.run("needs.sh")
	require.Zero(t, status, errOut)
	require.Regexp(t, `^make test will install:\n  Go modules .*\n  npm packages of dashboard .*\n  npm packages of agentclient/recipes .*\n  Chromium .* apt-get install --no-install-recommends chromium\n$`, out)
}

func TestMake_HelpListsEveryTarget(t *testing.T) {
	t.Parallel()
	help, err := exec.CommandContext(t.Context(), "make", "-C", root, "--no-print-directory", "help").Output()
	require.NoError(t, err)
	targets := regexp.MustCompile(`(?m)^\.PHONY: (.+)$`).FindAllStringSubmatch(string(read(t, "Makefile")), -1)
	require.NotEmpty(t, targets)
	for _, line := range targets {
		for _, target := range strings.Fields(line[1]) {
			require.Regexp(t, `(?m)^make `+target+` `, string(help))
		}
	}
}
