package pair

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hookback/hookback/agentclient/internal/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nodeJSON is what "tailscale status --json" prints, without most of the fields that pair ignores.
const nodeJSON = `{
  "Version": "1.76.6-t1edcf9d46-g8d3ab9b2a", "TUN": true, "BackendState": "Running", "HaveNodeKey": true, "AuthURL": "",
  "TailscaleIPs": ["100.101.102.103", "fd7a:115c:a1e0::1"],
  "Self": {"ID": "nA1B2CNTRL", "HostName": "Laptop", "DNSName": "laptop.tail1234.ts.net.", "OS": "linux", "UserID": 1, "Online": true},
  "Health": [], "MagicDNSSuffix": "tail1234.ts.net",
  "CurrentTailnet": {"Name": "ada@example.com", "MagicDNSSuffix": "tail1234.ts.net", "MagicDNSEnabled": true},
  "CertDomains": ["laptop.tail1234.ts.net"],
  "Peer": {"nodekey:1": {"HostName": "phone", "DNSName": "phone.tail1234.ts.net.", "OS": "iOS"}}, "ClientVersion": null
}`

// recorder is a tailscale that prints the files of its directory and records its arguments.
const recorder = `#!/bin/sh
echo "$*" >> "$0.log"
case "$*" in
"status --json") cat "$0.status" ;;
"serve status --json") cat "$0.serve" ;;
*) if [ -f "$0.fails" ]; then cat "$0.fails" >&2; exit 1; fi; echo "Available within your tailnet:" ;;
esac
`

// laptop is an account with a hub, a recorder as tailscale, and a browser that records its address.
type laptop struct {
	t           *testing.T
	dir         string
	port        string
	out, errOut bytes.Buffer
	env         map[string]string
}

func newLaptop(t *testing.T) *laptop {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("tailscale and the browser of this test are shell scripts")
	}
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/api/hub" {
			_, _ = io.WriteString(w, `{"hubId":"h1"}`)
		}
	}))
	t.Cleanup(hub.Close)
	l := &laptop{t: t, dir: t.TempDir(), port: portOf(hub.Listener)}
	l.env = map[string]string{"BROWSER": filepath.Join(l.dir, "browser")}
	l.write("tailscale", recorder)
	l.write("tailscale.status", nodeJSON)
	l.write("tailscale.serve", "{}")
	l.write("browser", "#!/bin/sh\necho \"$1\" >> \"$0.log\"\n")
	t.Setenv("PATH", l.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return l
}

func portOf(ln net.Listener) string {
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

func (l *laptop) write(name, content string) {
	l.t.Helper()
	require.NoError(l.t, os.WriteFile(filepath.Join(l.dir, name), []byte(content), 0o700)) //nolint:gosec // a program
}

func (l *laptop) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(l.dir, name))
	return string(b)
}

// serveStatus is what "tailscale serve status --json" prints with handlers for the address.
func (l *laptop) serveStatus(handlers, rest string) {
	l.write("tailscale.serve", fmt.Sprintf(`{"TCP":{"443":{"HTTPS":true}},"Web":{"laptop.tail1234.ts.net:443":{"Handlers":{%s}}}%s}`, handlers, rest))
}

func (l *laptop) run(ctx context.Context, terminal bool, stdin io.Reader, args ...string) int {
	l.out.Reset()
	l.errOut.Reset()
	r := &run{env: func(name string) string { return l.env[name] }, interactive: terminal, std: cli.Streams{In: stdin, Out: &l.out, Err: &l.errOut}}
	return r.run(ctx, append([]string{"--port", l.port}, args...))
}

// refused runs the command without questions. It must fail with a sentence and serve nothing.
func (l *laptop) refused(sentence string) {
	l.t.Helper()
	require.Equal(l.t, cli.ExitError, l.run(l.t.Context(), true, strings.NewReader(""), "--yes"), &l.out)
	require.Contains(l.t, l.errOut.String(), sentence)
	require.Empty(l.t, l.out.String())
	require.NotContains(l.t, l.read("tailscale.log"), "--bg")
	require.Empty(l.t, l.read("browser.log"))
}

func TestPair_ServesAfterConsentAndOpensSettings(t *testing.T) {
	l := newLaptop(t)
	require.Equal(t, cli.ExitOK, l.run(t.Context(), true, strings.NewReader("y\n")), &l.errOut)
	require.Equal(t, "status --json\nserve status --json\nserve --bg "+l.port+"\n", l.read("tailscale.log"))
	require.Contains(t, l.out.String(), "https://laptop.tail1234.ts.net, until you turn it off:\n\n  tailscale serve --bg "+l.port+"\n")
	require.Contains(t, l.out.String(), "Available within your tailnet:", "the message of Tailscale")
	page := "http://localhost:" + l.port + "/settings?address=https%3A%2F%2Flaptop.tail1234.ts.net#hub\n"
	require.Contains(t, l.out.String(), page)
	require.Eventually(t, func() bool { return l.read("browser.log") == page }, time.Minute, 10*time.Millisecond)

	l.serveStatus(`"/":{"Proxy":"http://127.0.0.1:`+l.port+`"}`, "")
	require.Equal(t, cli.ExitOK, l.run(t.Context(), false, strings.NewReader("")), "already served: nothing to ask")
	require.Equal(t, 1, strings.Count(l.read("tailscale.log"), "--bg"))
	require.Contains(t, l.out.String(), page)
}

func TestPair_WithoutConsentChangesNothing(t *testing.T) {
	l := newLaptop(t)
	for _, answer := range []string{"", "\n", "n\n", "yesterday\n"} {
		require.Equal(t, cli.ExitProblem, l.run(t.Context(), true, strings.NewReader(answer)), answer)
		require.Contains(t, l.out.String(), "Nothing was changed.")
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, typed := io.Pipe()
	ended := make(chan int, 1)
	go func() { ended <- l.run(ctx, true, in) }()
	require.Eventually(t, func() bool { return strings.Count(l.read("tailscale.log"), "serve status") == 5 }, time.Minute, 5*time.Millisecond)
	cancel() // Ctrl-C
	require.NotZero(t, <-ended)
	require.NoError(t, typed.Close())

	require.Equal(t, cli.ExitError, l.run(t.Context(), false, strings.NewReader("y\n")))
	require.Contains(t, l.errOut.String(), "needs a terminal")
	require.NotContains(t, l.read("tailscale.log"), "--bg")
	require.Equal(t, cli.ExitOK, l.run(t.Context(), false, strings.NewReader(""), "--yes"))
	require.Contains(t, l.read("tailscale.log"), "serve --bg "+l.port)
	require.Empty(t, l.read("browser.log"), "no terminal, no browser")
}

func TestPair_NodeIsNotReady(t *testing.T) {
	l := newLaptop(t)
	for from, c := range map[string]struct{ to, sentence string }{
		`"Running"`:                                  {`"NeedsLogin"`, "not signed in to Tailscale"},
		`"BackendState": "Running"`:                  {`"BackendState": "NeedsMachineAuth"`, "admin of your tailnet must approve"},
		`"BackendState": "Running", `:                {`"BackendState": "Stopped", `, "Tailscale is not connected"},
		`"CertDomains": ["laptop.tail1234.ts.net"]`:  {`"CertDomains": null`, "HTTPS certificates are not enabled"},
		`"DNSName": "laptop.tail1234.ts.net."`:       {`"DNSName": ""`, "Turn on MagicDNS"},
		`"laptop.tail1234.ts.net."`:                  {`"a.ts.net/\u001b[2J."`, `"a.ts.net/\x1b[2j" is not a host name`},
		`"Version": "1.76.6-t1edcf9d46-g8d3ab9b2a",`: {`nonsense`, "tailscale status --json: invalid character"},
	} {
		require.Contains(t, nodeJSON, from)
		l.write("tailscale.status", strings.Replace(nodeJSON, from, c.to, 1))
		l.refused(c.sentence)
	}
	l.write("tailscale", "#!/bin/sh\necho 'failed to connect to local tailscaled' >&2\nexit 1\n")
	l.refused("failed to connect to local tailscaled\nhookback: tailscale status --json: exit status 1; check that Tailscale runs")
}

// What Tailscale serves already is never replaced, nor opened to the internet.
func TestPair_AddressIsInUse(t *testing.T) {
	l := newLaptop(t)
	own := `"/":{"Proxy":"http://localhost:` + l.port + `"}`
	l.serveStatus(`"/":{"Proxy":"http://127.0.0.1:3000"}`, "")
	l.refused(`already serves "http://127.0.0.1:3000" at https://laptop.tail1234.ts.net. To serve the hub beside it, run tailscale serve --bg --https=8443 ` + l.port + `, and set https://laptop.tail1234.ts.net:8443`)
	l.serveStatus(own+`,"/notes":{"Path":"/home/ada/notes"}`, "")
	l.refused(`already serves "/home/ada/notes"`)
	l.write("tailscale.serve", `{"TCP":{"443":{"TCPForward":"127.0.0.1:5432","TerminateTLS":"laptop.tail1234.ts.net"}}}`)
	l.refused(`already serves "127.0.0.1:5432"`)
	l.serveStatus(own, `,"AllowFunnel":{"laptop.tail1234.ts.net:443":true}`)
	l.refused("everyone on the internet can open it")
	l.write("tailscale.serve", "null")
	l.write("tailscale.fails", "Access denied: serve config denied\n")
	require.Equal(t, cli.ExitError, l.run(t.Context(), true, strings.NewReader(""), "--yes"))
	require.Contains(t, l.errOut.String(), "Access denied: serve config denied\nhookback: tailscale serve: exit status 1; its message is above")
	require.Empty(t, l.read("browser.log"))
}

func TestPair_NoTailscaleListsOtherWays(t *testing.T) {
	l := newLaptop(t)
	t.Setenv("PATH", "/nonexistent")
	l.refused("Tailscale was not found on this computer")
	for _, way := range []string{"https://tailscale.com/download", "leads an https address to 127.0.0.1:" + l.port, "-tls-cert", "http://localhost:" + l.port + "/settings#hub"} {
		require.Contains(t, l.errOut.String(), way)
	}
}

func TestPair_NeedsHub(t *testing.T) {
	l := newLaptop(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.port = portOf(ln)
	require.NoError(t, ln.Close())
	l.refused("no hub runs at port " + l.port + " of this machine. Start it with hookback up, or name its port with --port")
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	l.port = portOf(other.Listener)
	l.refused("port " + l.port + " answers, but not as a hub")
	require.Empty(t, l.read("tailscale.log"))
	for _, args := range [][]string{{"phone"}, {"--port", "70000"}, {"--hub", "x"}} {
		require.Equal(t, cli.ExitError, l.run(t.Context(), true, strings.NewReader(""), args...), args)
	}
}
