package up

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/service"
)

// installService installs the service with a systemctl that records its arguments. After a restart, and
// until a stop, it says that the service is active.
func (d *desk) installService(flags ...string) {
	bin := filepath.Join(d.home, "manager")
	require.NoError(d.t, os.Mkdir(bin, 0o700))
	script := `#!/bin/sh
echo "$*" >> "` + bin + `/log"
case "$2" in
restart) : > "` + bin + `/active" ;;
disable) rm -f "` + bin + `/active" ;;
is-active) test -e "` + bin + `/active" ;;
esac
`
	require.NoError(d.t, os.WriteFile(filepath.Join(bin, "systemctl"), []byte(script), 0o700)) //nolint:gosec // a program
	d.t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	d.env["XDG_RUNTIME_DIR"] = d.home
	env := func(name string) string { return d.env[name] }
	status := service.Run(d.t.Context(), append([]string{"install"}, flags...), env, cli.Streams{Out: &d.out, Err: &d.errOut})
	require.Zero(d.t, status, d.errOut.String())
	require.NoError(d.t, os.Remove(filepath.Join(bin, "log")))
	d.out = lockedBuffer{}
}

// serveHub answers at the port until the test ends.
func (d *desk) serveHub() {
	ln, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(d.port))
	require.NoError(d.t, err)
	hub := &http.Server{Handler: fakeHub("v1.2.3"), ReadHeaderTimeout: time.Minute}
	go func() { _ = hub.Serve(ln) }()
	d.t.Cleanup(func() { _ = hub.Close() })
}

func TestUp_StartsStoppedService(t *testing.T) {
	d := newDesk(t, "owned")
	d.installService()
	active := filepath.Join(d.home, "manager", "active")
	require.NoError(t, os.Remove(active))
	ended := make(chan int, 1)
	go func() { ended <- d.run(t.Context(), true, "", "--no-open") }()
	require.Eventually(t, func() bool { _, err := os.Stat(active); return err == nil }, time.Minute, time.Millisecond)
	d.serveHub()
	require.Zero(t, <-ended, d.errOut.String())
	require.Contains(t, d.out.String(), "The hub runs: http://localhost:"+strconv.Itoa(d.port)+"/\n")
	require.Empty(t, d.read("args"), "the manager starts the hub")
	require.Equal(t, "--user daemon-reload\n--user enable hookback.service\n--user restart hookback.service\n", d.read("manager/log"))
}

func TestUp_SignInRestartsService(t *testing.T) {
	d := newDesk(t, "owned")
	d.installService()
	d.serveHub()

	require.Zero(t, d.run(t.Context(), true, "", "--sign-in", "--no-open"), d.errOut.String())
	require.Contains(t, d.out.String(), "/#sign-in=code1234\n")
	require.Contains(t, d.read("args"), "-sign-in ada\n")
	require.Equal(t, "--user is-active --quiet hookback.service\n--user disable --now hookback.service\n--user daemon-reload\n--user enable hookback.service\n--user restart hookback.service\n", d.read("manager/log"))

	t.Setenv("FAKE_LINK", filepath.Join(d.home, "missing", "link")) // no link can be written
	require.Equal(t, cli.ExitError, d.run(t.Context(), true, "", "--sign-in", "--no-open"))
	require.Contains(t, d.errOut.String(), "no sign-in link was made: ")
	require.FileExists(t, filepath.Join(d.home, "manager", "active"), "the service runs again")
}

func TestUp_SignInStartsStoppedService(t *testing.T) {
	d := newDesk(t, "owned")
	d.installService()
	active := filepath.Join(d.home, "manager", "active")
	require.NoError(t, os.Remove(active))
	ended := make(chan int, 1)
	go func() { ended <- d.run(t.Context(), true, "", "--sign-in", "--no-open") }()
	require.Eventually(t, func() bool { _, err := os.Stat(active); return err == nil }, time.Minute, time.Millisecond)
	d.serveHub()
	require.Zero(t, <-ended, d.errOut.String())
	require.Contains(t, d.out.String(), "/#sign-in=code1234\n")
	require.NotContains(t, d.read("manager/log"), "disable")
	require.NotContains(t, d.read("args"), "-ready-json", "the manager starts the hub")
}

func TestUp_SignInKeepsServiceWithOwnDatabase(t *testing.T) {
	d := newDesk(t, "owned")
	d.installService("--", "-db", "/data/hub.db")
	d.serveHub()
	require.Equal(t, cli.ExitError, d.run(t.Context(), true, "", "--sign-in"))
	require.Contains(t, d.errOut.String(), "the service has its own database")
	require.NotContains(t, d.read("manager/log"), "disable")
	require.Empty(t, d.read("args"))
}
