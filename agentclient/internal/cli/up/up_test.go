package up

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/service"
)

// desk is an account whose hub is this test binary, with a browser that records its address.
type desk struct {
	t      *testing.T
	home   string
	env    map[string]string
	port   int
	out    lockedBuffer
	errOut lockedBuffer
}

// lockedBuffer can be read while a command writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newDesk(t *testing.T, mode string) *desk {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the browser of this test is a shell script")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	d := &desk{t: t, home: t.TempDir(), port: freePort(t)}
	browser := filepath.Join(d.home, "browser")
	require.NoError(t, os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >> \"$0.log\"\n"), 0o700)) //nolint:gosec // a program
	t.Setenv(fakeMode, mode)
	t.Setenv("FAKE_ARGS", filepath.Join(d.home, "args"))
	t.Setenv("FAKE_LINK", filepath.Join(d.home, "sign-in-link"))
	d.env = map[string]string{"HOME": d.home, "XDG_STATE_HOME": filepath.Join(d.home, "state"), "BROWSER": browser, service.ServerVariable: self, "PATH": "/nonexistent"}
	return d
}

func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port
}

// run runs hookback up to its end.
func (d *desk) run(ctx context.Context, terminal bool, stdin string, args ...string) int {
	return d.runFrom(ctx, terminal, strings.NewReader(stdin), args...)
}

func (d *desk) runFrom(ctx context.Context, terminal bool, stdin io.Reader, args ...string) int {
	s := &session{
		env: func(name string) string { return d.env[name] }, version: "v1.2.3", interactive: terminal,
		std: cli.Streams{In: stdin, Out: &d.out, Err: &d.errOut},
	}
	return s.run(ctx, append([]string{"--port", strconv.Itoa(d.port), "--name", "ada"}, args...))
}

// start runs hookback up until its output has text, then stops it as Ctrl-C does.
func (d *desk) start(terminal bool, stdin, text string, args ...string) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- d.run(ctx, terminal, stdin, args...) }()
	d.waitFor(text)
	cancel()
	require.Zero(d.t, <-ended, d.errOut.String())
}

func (d *desk) waitFor(text string) {
	d.t.Helper()
	require.Eventually(d.t, func() bool { return strings.Contains(d.out.String(), text) },
		time.Minute, 10*time.Millisecond, "output: %s%s", &d.out, &d.errOut)
}

func (d *desk) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(d.home, name))
	return string(b)
}

func (d *desk) log() string { return filepath.Join(d.home, "state", "hookback", "hub.log") }

func TestUp_OpensPageAndPrintsTestRequest(t *testing.T) {
	d := newDesk(t, "owned")
	d.start(true, "", "✓ Ran")
	require.Contains(t, d.out.String(), "✓ Saved\n  ✓ Answered: approved\n  ✓ Sent\n  ✓ Delivered\n  ✓ Ran\n")
	require.Equal(t, "-addr 127.0.0.1:"+strconv.Itoa(d.port)+" -ready-json with a test request\n", d.read("args"))
	require.Eventually(t, func() bool { return d.read("browser.log") == "http://localhost:"+strconv.Itoa(d.port)+"/\n" }, time.Minute, 10*time.Millisecond)
	log, err := os.ReadFile(d.log())
	require.NoError(t, err)
	require.Equal(t, "a line of the log\nstopped\n", string(log), "the hub ends in order")

	d.out = lockedBuffer{}
	d.start(true, "", "Hookback runs")
	require.NotContains(t, strings.Split(d.read("args"), "\n")[1], "test request", "only the first start sends one")

	d.out = lockedBuffer{}
	d.start(true, "", "✓ Ran", "--test")
	require.Contains(t, strings.Split(d.read("args"), "\n")[2], "test request")
}

// The code of the link is in a file for the browser, not on its command line.
func TestUp_SignsInByRedirect(t *testing.T) {
	d := newDesk(t, "new")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan int, 1)
	go func() { ended <- d.run(ctx, true, "") }()
	require.Eventually(t, func() bool { return strings.HasSuffix(d.read("browser.log"), ".html\n") }, time.Minute, 10*time.Millisecond)
	redirect := strings.TrimPrefix(strings.TrimSpace(d.read("browser.log")), "file://")
	info, err := os.Stat(redirect)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	html, err := os.ReadFile(redirect)
	require.NoError(t, err)
	require.Contains(t, string(html), `url=http://localhost:1/#sign-in=code1234&amp;name=ada"`)
	require.NotContains(t, d.out.String(), "code1234")

	require.NoError(t, os.Remove(filepath.Join(d.home, "sign-in-link"))) // as the hub does when the link was used
	require.Eventually(t, func() bool { _, err := os.Stat(redirect); return os.IsNotExist(err) }, time.Minute, 10*time.Millisecond)
	cancel()
	require.Zero(t, <-ended)
	require.NotContains(t, d.out.String(), "code1234")
}

func TestUp_WithoutBrowserPrintsLink(t *testing.T) {
	d := newDesk(t, "new")
	d.env["BROWSER"] = "no-such-browser"
	d.start(true, "", "/#sign-in=code1234&name=ada\n")
	require.Contains(t, d.out.String(), "No browser was found. Open the page yourself.")
	left, err := filepath.Glob(filepath.Join(d.home, "state", "hookback", "*.html"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Without a terminal, the output may be a log: it has neither the link nor a question.
func TestUp_WithoutTerminalAsksNothing(t *testing.T) {
	d := newDesk(t, "new")
	require.NoError(t, os.Mkdir(filepath.Join(d.home, ".codex"), 0o700))
	d.start(false, "", "✓ Ran")
	require.Contains(t, d.out.String(), "http://localhost:"+strconv.Itoa(d.port)+"/")
	require.Contains(t, d.out.String(), "Sign in with the link in "+filepath.Join(d.home, "sign-in-link"))
	require.NotContains(t, d.out.String(), "code1234")
	require.NotContains(t, d.out.String(), "[Y/n]")
	require.NoFileExists(t, filepath.Join(d.home, "browser.log"))
	require.NoFileExists(t, filepath.Join(d.home, ".codex", "hooks.json"))
}

func TestUp_ConnectsAgents(t *testing.T) {
	for stdin, connects := range map[string]bool{"\n": true, "y\n": true, "n\n": false, "": false} {
		t.Run(strconv.Quote(stdin), func(t *testing.T) {
			d := newDesk(t, "owned")
			bin := filepath.Join(d.home, "bin")
			require.NoError(t, os.Mkdir(bin, 0o700))
			require.NoError(t, os.Symlink(d.env[service.ServerVariable], filepath.Join(bin, "hookback"))) // the program in the settings
			d.env["PATH"] = bin
			require.NoError(t, os.Mkdir(filepath.Join(d.home, ".codex"), 0o700))
			d.start(true, stdin, "✓ Ran", "--no-open")
			require.Contains(t, d.out.String(), "Found Codex CLI. Connect it? [Y/n] ")
			if !connects {
				require.Contains(t, d.out.String(), "No agent was connected.")
				require.NoFileExists(t, filepath.Join(d.home, ".codex", "hooks.json"))
				return
			}
			require.Regexp(t, `Codex CLI: \d+ hooks added to ~/.codex/hooks.json\n`, d.out.String())
			require.FileExists(t, filepath.Join(d.home, ".codex", "hooks.json"))

			d.out = lockedBuffer{}
			d.start(true, stdin, "Hookback runs", "--no-open")
			require.NotContains(t, d.out.String(), "[Y/n]", "they are connected already")
		})
	}
}

// The question itself is hookback-server's: see server/internal/importer.
func TestUp_OffersImport(t *testing.T) {
	for name, test := range map[string]struct {
		terminal bool
		args     []string
		want     string
	}{
		"terminal": {true, nil, "import --offer --hub "}, "--yes": {false, []string{"--yes"}, "import --offer --hub "},
		"--no-wire": {true, []string{"--no-wire"}, ""}, "no terminal": {false, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "owned")
			d.start(test.terminal, "y\n", "✓ Ran", append(test.args, "--no-open")...)
			require.Equal(t, test.want != "", strings.Contains(d.out.String(), "Imported 2 sessions"), &d.out)
			require.Equal(t, test.want != "", strings.Contains(d.read("args.import"), "import --offer --hub http://127.0.0.1:"+strconv.Itoa(d.port)))
			require.Equal(t, name == "--yes", strings.Contains(d.read("args.import"), " --yes=true"))
		})
	}
}

func TestUp_FindsRunningHub(t *testing.T) {
	for version, warning := range map[string]string{"v1.2.3": "", "v1.9.0": "hookback: the hub is version v1.9.0, and this program v1.2.3; update the older one\n"} {
		t.Run(version, func(t *testing.T) {
			d := newDesk(t, "owned")
			hub := httptest.NewServer(fakeHub(version))
			defer hub.Close()
			d.port = hub.Listener.Addr().(*net.TCPAddr).Port
			require.Zero(t, d.run(t.Context(), true, ""))
			require.Equal(t, warning, d.errOut.String())
			require.Eventually(t, func() bool { return strings.HasPrefix(d.read("browser.log"), "http://localhost:") }, time.Minute, 10*time.Millisecond)
			require.Empty(t, d.read("args"), "no second hub")

			d.out = lockedBuffer{}
			require.Zero(t, d.run(t.Context(), false, "", "--test"))
			require.Contains(t, d.out.String(), "Open http://localhost:"+strconv.Itoa(d.port)+"/?test=1 to send the test request.\n")
			d.errOut = lockedBuffer{}
			require.Equal(t, cli.ExitError, d.run(t.Context(), true, "", "--sign-in"))
			require.Contains(t, d.errOut.String(), "only while it is stopped")
		})
	}
}

func TestUp_MakesSignInLink(t *testing.T) {
	d := newDesk(t, "owned")
	d.start(true, "", "/#sign-in=code1234\n", "--sign-in", "--no-open")
	require.Contains(t, d.read("args"), "-sign-in ada\n")
}

// Each of these changes nothing and starts nothing.
func TestUp_RefusesWithSentence(t *testing.T) {
	d := newDesk(t, "owned")
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	free := d.port
	d.port = other.Listener.Addr().(*net.TCPAddr).Port
	require.Equal(t, cli.ExitError, d.run(t.Context(), true, ""))
	who := "another program"
	if runtime.GOOS == "linux" {
		name, err := os.ReadFile("/proc/self/comm")
		require.NoError(t, err)
		who = strings.TrimSpace(string(name)) + " (pid " + strconv.Itoa(os.Getpid()) + ")"
	}
	next := (&session{port: d.port}).nextPort()
	require.Equal(t, "hookback: port "+strconv.Itoa(d.port)+" is in use by "+who+". Try: hookback up --port "+strconv.Itoa(next)+"\n", d.errOut.String())
	d.port = free

	for name, test := range map[string]struct {
		change func()
		args   []string
		want   string
	}{
		"no server":      {func() { d.env[service.ServerVariable] = filepath.Join(d.home, "missing") }, nil, "HOOKBACK_SERVER"},
		"no home":        {func() { d.env["XDG_STATE_HOME"], d.env["HOME"] = "", "" }, nil, "no home directory"},
		"read-only home": {func() { d.env["XDG_STATE_HOME"] = "/proc/nothing" }, nil, "Set XDG_STATE_HOME to a directory that you can write. Nothing was started"},
		"port":           {func() {}, []string{"--port", "70000"}, "--port 70000: must be from 1 to 65535"},
		"argument":       {func() {}, []string{"now"}, `up takes flags only, not "now"`},
	} {
		t.Run(name, func(t *testing.T) {
			saved := map[string]string{}
			for k, v := range d.env {
				saved[k] = v
			}
			defer func() { d.env = saved }()
			d.errOut = lockedBuffer{}
			test.change()
			require.Equal(t, cli.ExitError, d.run(t.Context(), true, "", test.args...))
			require.Contains(t, d.errOut.String(), test.want)
			require.Equal(t, 1, strings.Count(d.errOut.String(), "\n"), "one sentence")
		})
	}
	require.Empty(t, d.read("args"))
}

func TestUp_PrintsLogOfFailedHub(t *testing.T) {
	d := newDesk(t, "crash")
	require.NoError(t, os.MkdirAll(filepath.Dir(d.log()), 0o700))
	require.NoError(t, os.WriteFile(d.log(), []byte("an earlier run\n"), 0o600))
	require.Equal(t, cli.ExitError, d.run(t.Context(), false, ""))
	require.Contains(t, d.errOut.String(), "hookback: the hub ended at its start (exit status 1). The end of "+d.log()+":\nline 11\n")
	require.True(t, strings.HasSuffix(d.errOut.String(), "hookback-server: the database is locked\n"))
	require.NotContains(t, d.errOut.String(), "an earlier run")

	d = newDesk(t, "dies")
	require.Equal(t, cli.ExitError, d.run(t.Context(), false, ""))
	require.Contains(t, d.errOut.String(), "hookback: the hub ended (exit status 3). The end of")
}

func TestServer_WithoutProgram(t *testing.T) {
	var errOut bytes.Buffer
	t.Setenv("PATH", "/nonexistent")
	status := Server(t.Context(), nil, func(string) string { return "" }, cli.Streams{Err: &errOut})
	require.Equal(t, cli.ExitError, status)
	require.Contains(t, errOut.String(), "hookback-server was not found (tried ")
	require.Contains(t, errOut.String(), "install it with go install ./server/cmd/hookback-server in a clone of Hookback")
}
