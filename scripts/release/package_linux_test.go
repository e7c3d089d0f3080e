package release_test

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	root = "../.."
	// The version that GoReleaser in the Makefile uses.
	nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.1"
)

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(content)
}

// command runs a program in the root of the repository and returns its output.
func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return string(out)
}

// TestConfig_BuildsAsMakeDoes: the tests run the binaries of make build, so a release has to use the
// same flags.
func TestConfig_BuildsAsMakeDoes(t *testing.T) {
	t.Parallel()
	config := read(t, "scripts/release/goreleaser.yaml")
	require.Equal(t, 2, strings.Count(config, "- CGO_ENABLED=0\n"))
	require.Equal(t, 2, strings.Count(config, "- GOFLAGS=-buildvcs=true"))
	require.Equal(t, 2, strings.Count(config, "    flags:\n      - -trimpath\n"))
	require.Equal(t, 2, strings.Count(config, "    ldflags:\n      - -s -w\n"))
	for _, main := range []string{"./server/cmd/hookback-server", "./agentclient/cmd/hookback"} {
		require.Contains(t, config, "main: "+main+"\n")
		require.Contains(t, read(t, "Makefile"), " "+main)
	}
}

func TestCompletions_ListEveryCommand(t *testing.T) {
	t.Parallel()
	help := command(t, nil, "go", "run", "-buildvcs=false", "./agentclient/cmd/hookback", "help")
	var names []string
	for _, line := range regexp.MustCompile(`(?m)^  ([a-z]+) {2,}\S`).FindAllStringSubmatch(help, -1) {
		names = append(names, line[1])
	}
	require.Contains(t, names, "version")
	for _, file := range []string{"hookback.bash", "_hookback", "hookback.fish"} {
		require.Contains(t, read(t, "scripts/release/completions/"+file), strings.Join(names, " "), file)
	}
}

// packageConfig returns the configuration of nfpm that GoReleaser makes from the section nfpms, for
// binaries in dir.
func packageConfig(t *testing.T, dir string) string {
	t.Helper()
	_, section, ok := strings.Cut(read(t, "scripts/release/goreleaser.yaml"), "\nnfpms:\n")
	require.True(t, ok)
	section = regexp.MustCompile(`(?s)\n\n(#|\w+:).*`).ReplaceAllString(section, "\n")
	section = strings.ReplaceAll("  "+strings.TrimPrefix(section, "  - "), "\n    ", "\n")
	section = regexp.MustCompile(`(?m)^ *(id|ids|formats|bindir): .*\n`).ReplaceAllString(section, "")
	section = strings.ReplaceAll(section, `"{{ .CommitDate }}"`, `"2026-01-02T03:04:05Z"`)
	require.NotContains(t, section, "{{")
	section = strings.Replace(section, "package_name:", "name:", 1) + "version: 1.2.3\narch: " + runtime.GOARCH + "\n"
	binaries := "contents:\n"
	for _, name := range []string{"hookback", "hookback-server"} {
		binaries += "  - src: " + filepath.Join(dir, name) + "\n    dst: /usr/bin/" + name + "\n    file_info: {mode: 0755}\n"
	}
	return strings.Replace(section, "contents:\n", binaries, 1)
}

// TestPackage_InstallsAndRuns builds the deb of this machine, installs it into an empty root, asks and
// answers with the installed programs, and removes it.
func TestPackage_InstallsAndRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command(t, []string{"CGO_ENABLED=0"}, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", dir+"/",
		"./server/cmd/hookback-server", "./agentclient/cmd/hookback")

	config, deb := filepath.Join(dir, "nfpm.yaml"), filepath.Join(dir, "hookback.deb")
	require.NoError(t, os.WriteFile(config, []byte(packageConfig(t, dir)), 0o600))
	command(t, nil, "go", "run", nfpm, "package", "-f", config, "-p", "deb", "-t", deb)
	again := filepath.Join(dir, "again.deb")
	command(t, nil, "go", "run", nfpm, "package", "-f", config, "-p", "deb", "-t", again)
	first, err := os.ReadFile(deb)
	require.NoError(t, err)
	second, err := os.ReadFile(again)
	require.NoError(t, err)
	require.True(t, bytes.Equal(first, second), "two packages of the same files differ")

	installed, remove := installPackage(t, deb)
	for _, name := range []string{
		"usr/bin/hookback", "usr/bin/hookback-server", "usr/lib/systemd/user/hookback.service",
		"usr/share/doc/hookback/copyright", "usr/share/doc/hookback/THIRD-PARTY-NOTICES.txt",
		"usr/share/bash-completion/completions/hookback", "usr/share/zsh/vendor-completions/_hookback",
		"usr/share/fish/vendor_completions.d/hookback.fish",
	} {
		require.FileExists(t, filepath.Join(installed, name))
	}
	enabled, err := filepath.Glob(filepath.Join(installed, "etc/systemd/user/*/*"))
	require.NoError(t, err)
	require.Empty(t, enabled, "the package enables no unit")

	verifyUnit(t, installed)
	askAndAnswer(t, filepath.Join(installed, "usr/bin"))
	remove()
}

// installPackage installs deb into an empty root, and returns that and a function that removes the
// package and checks that it leaves no file.
func installPackage(t *testing.T, deb string) (installed string, remove func()) {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("this machine has no dpkg")
	}
	installed = t.TempDir()
	if os.Geteuid() != 0 { // only root can install
		command(t, nil, "dpkg-deb", "-x", deb, installed)
		return installed, func() {}
	}
	state := filepath.Join(installed, "var/lib/dpkg")
	for _, name := range []string{"info", "updates", "triggers"} {
		require.NoError(t, os.MkdirAll(filepath.Join(state, name), 0o755)) //nolint:gosec // as on any Debian
	}
	require.NoError(t, os.WriteFile(filepath.Join(state, "status"), nil, 0o600))
	command(t, nil, "dpkg", "--root="+installed, "--log=/dev/null", "--install", deb)
	return installed, func() {
		command(t, nil, "dpkg", "--root="+installed, "--log=/dev/null", "--purge", "hookback")
		left, err := filepath.Glob(filepath.Join(installed, "usr/*"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// verifyUnit has systemd read the unit, with the path of the installed program.
func verifyUnit(t *testing.T, installed string) {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("this machine has no systemd-analyze")
		return
	}
	text, err := os.ReadFile(filepath.Join(installed, "usr/lib/systemd/user/hookback.service"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), "\nExecStart=/usr/bin/hookback-server\n"))
	text = bytes.ReplaceAll(text, []byte("=/usr/"), []byte("="+installed+"/usr/"))
	unit := filepath.Join(t.TempDir(), "hookback.service")
	require.NoError(t, os.WriteFile(unit, text, 0o600))
	out := command(t, []string{"XDG_RUNTIME_DIR=" + t.TempDir()}, "systemd-analyze", "--user", "--man=no", "verify", unit)
	require.Empty(t, out)
}

// askAndAnswer runs the programs in bin with an empty home directory.
func askAndAnswer(t *testing.T, bin string) {
	t.Helper()
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + bin, "HOOKBACK_SOCKET=off", "HOOKBACK_ADDR=127.0.0.1:0"}
	hub := exec.CommandContext(t.Context(), filepath.Join(bin, "hookback-server"))
	hub.Env = env
	greeting, err := hub.StdoutPipe()
	require.NoError(t, err)
	var log bytes.Buffer
	hub.Stderr = &log
	require.NoError(t, hub.Start())
	t.Cleanup(func() { _ = hub.Process.Kill() })
	addr := ""
	lines := bufio.NewScanner(greeting)
	for addr == "" && lines.Scan() {
		if url, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "Dashboard "); ok {
			addr = strings.Replace(strings.TrimSpace(url), "http://localhost:", "127.0.0.1:", 1)
		}
	}
	require.NotEmpty(t, addr, "the hub did not start: %s", &log)

	healthy := func() error {
		check := exec.CommandContext(t.Context(), filepath.Join(bin, "hookback-server"), "-health", "-addr", addr)
		check.Env = env
		return check.Run()
	}
	require.Eventually(t, func() bool { return healthy() == nil }, time.Minute, 10*time.Millisecond)

	// Without --known-hubs the test would add its hub to those that the account trusts.
	ask := exec.CommandContext(t.Context(), filepath.Join(bin, "hookback"), "ask", "Which color?", "--text", "--hub", "http://"+addr,
		"--known-hubs", filepath.Join(home, "known_hubs"))
	ask.Env = env
	var answer, problem bytes.Buffer
	ask.Stdout, ask.Stderr = &answer, &problem
	require.NoError(t, ask.Start())
	require.Eventually(t, func() bool {
		resp, err := http.Post("http://"+addr+"/events/1/respond", "application/json", strings.NewReader(`{"response":"blue"}`))
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, ask.Wait(), "%s", &problem)
	require.Equal(t, "blue\n", answer.String())

	require.NoError(t, hub.Process.Signal(syscall.SIGTERM))
	require.NoError(t, hub.Wait(), "%s", &log)
	require.Error(t, healthy())
	require.FileExists(t, filepath.Join(home, ".local/share/hookback/hookback.db"))
}
