package pair

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// macApp is the program of the Mac App Store's version, which is not on PATH.
const macApp = "/Applications/Tailscale.app/Contents/MacOS/Tailscale"

// tailscale runs the command line of Tailscale.
type tailscale struct {
	path     string
	out, err io.Writer // of the person
}

// findTailscale returns the path of the program, or "".
func findTailscale() string {
	if path, err := exec.LookPath("tailscale"); err == nil {
		return path
	}
	if _, err := os.Stat(macApp); runtime.GOOS == "darwin" && err == nil {
		return macApp
	}
	return ""
}

// nodeStatus is the part of "tailscale status --json" that this package reads.
type nodeStatus struct {
	BackendState string
	Self         struct{ DNSName string }
	CertDomains  []string
}

// serveStatus is the part of "tailscale serve status --json" that this package reads. Web and
// AllowFunnel have keys such as "laptop.tail1234.ts.net:443".
type serveStatus struct {
	TCP map[string]struct{ TCPForward string }
	Web map[string]struct {
		Handlers map[string]struct{ Proxy, Path string }
	}
	AllowFunnel map[string]bool
}

// query decodes the JSON that a command of Tailscale prints.
func (t *tailscale) query(ctx context.Context, result any, args ...string) error {
	cmd := exec.CommandContext(ctx, t.path, args...) //nolint:gosec // the account's own program
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, t.err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("tailscale %s: %w; check that Tailscale runs on this computer", strings.Join(args, " "), err)
	}
	if err := json.Unmarshal(out.Bytes(), result); err != nil {
		return fmt.Errorf("tailscale %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// host returns this computer's name in its tailnet. It fails if that name can have no certificate.
func (t *tailscale) host(ctx context.Context) (string, error) {
	var status nodeStatus
	if err := t.query(ctx, &status, "status", "--json"); err != nil {
		return "", err
	}
	switch status.BackendState {
	case "Running":
	case "NeedsLogin", "NoState":
		return "", errors.New("this computer is not signed in to Tailscale. Sign in with tailscale up, then repeat hookback pair")
	case "NeedsMachineAuth":
		return "", errors.New("an admin of your tailnet must approve this computer: https://login.tailscale.com/admin/machines")
	default:
		return "", errors.New("Tailscale is not connected. Connect it with tailscale up, then repeat hookback pair") //nolint:staticcheck // a name
	}
	name := strings.ToLower(strings.TrimSuffix(status.Self.DNSName, "."))
	switch {
	case name == "":
		return "", errors.New("this computer has no name in your tailnet. Turn on MagicDNS, then repeat hookback pair: https://login.tailscale.com/admin/dns")
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "":
		return "", fmt.Errorf("tailscale status: %q is not a host name", name)
	case !slices.Contains(status.CertDomains, name):
		return "", errors.New("HTTPS certificates are not enabled in your tailnet. Enable them, then repeat hookback pair: https://login.tailscale.com/admin/dns")
	}
	return name, nil
}

// isServed reports whether Tailscale already serves the hub at https://host. It fails if something else is
// served there, or if the internet reaches that address.
func (t *tailscale) isServed(ctx context.Context, host, port string) (bool, error) {
	var status serveStatus
	if err := t.query(ctx, &status, "serve", "status", "--json"); err != nil {
		return false, err
	}
	if status.AllowFunnel[host+":443"] {
		return false, fmt.Errorf("Tailscale Funnel is on for https://%s, so everyone on the internet can open it. Turn it off with tailscale funnel --https=443 off, then repeat hookback pair", host) //nolint:staticcheck // a name
	}
	handlers := status.Web[host+":443"].Handlers
	other := status.TCP["443"].TCPForward
	for path, h := range handlers {
		// Another program at a path of the address could act as the hub's page.
		if path != "/" || h.Proxy != "http://127.0.0.1:"+port && h.Proxy != "http://localhost:"+port {
			other = cmp.Or(h.Proxy, h.Path, path)
		}
	}
	if other != "" {
		return false, fmt.Errorf("Tailscale already serves %q at https://%s. To serve the hub beside it, run tailscale serve --bg --https=8443 %s, and set https://%[2]s:8443 as the public address of the hub", other, host, port) //nolint:staticcheck // a name
	}
	return len(handlers) > 0, nil
}

// serve makes Tailscale serve a port of this computer at https://host, until it is turned off. Its
// messages are for the person: they can contain an address to open.
func (t *tailscale) serve(ctx context.Context, port string) error {
	cmd := exec.CommandContext(ctx, t.path, "serve", "--bg", port) //nolint:gosec // the account's own program
	cmd.Stdout, cmd.Stderr = t.out, t.err
	return cmd.Run()
}
