// Package pair is hookback pair: it lets Tailscale serve the hub of this machine, and opens the page
// that pairs a phone.
package pair

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/agentclient/internal/cli/desktop"
)

const help = `hookback pair [flags]

Makes the hub on this machine reachable from your phone, through Tailscale: it runs
tailscale serve after you agree, and opens the hub's settings with the new address. There
an admin confirms the address, and a QR code signs in the phone.

Only devices of your tailnet reach that address. The phone needs Tailscale, too.

Exit status: 0 the hub is served; 1 you declined, and nothing was changed; 2 an error
(the reason is on stderr), or no Tailscale: then it lists the other ways.
`

// run is one run of the command.
type run struct {
	env         func(string) string
	std         cli.Streams
	interactive bool
	port        int
	yes, noOpen bool
}

// Run runs hookback pair.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	r := &run{env: env, std: std, interactive: cli.IsTerminal(std.In) && cli.IsTerminal(std.Out)}
	return r.run(ctx, args)
}

func (r *run) run(ctx context.Context, args []string) int {
	f := cli.NewBareFlags("pair", help)
	f.IntVar(&r.port, "port", 4000, "the `port` of the hub on this machine")
	f.BoolVar(&r.yes, "yes", false, "run tailscale serve without asking")
	f.BoolVar(&r.noOpen, "no-open", false, "open no browser")
	if status, done := f.ParseFlags(args, r.std); done {
		return status
	}
	if r.port < 1 || r.port > 65535 {
		return r.std.PrintError("--port %d: must be from 1 to 65535", r.port)
	}
	if err := r.requireHub(ctx); err != nil {
		return r.std.PrintError("%v", err)
	}
	program := findTailscale()
	if program == "" {
		return r.std.PrintError(otherWays, r.port, r.settings(""))
	}
	t := &tailscale{path: program, out: r.std.Out, err: r.std.Err}
	host, err := t.host(ctx)
	if err != nil {
		return r.std.PrintError("%v", err)
	}
	return r.serve(ctx, t, host)
}

// otherWays is printed without Tailscale. Its arguments are the port and the page of the settings.
const otherWays = `Tailscale was not found on this computer. Your phone needs an https address of the hub. The ways:
  - Tailscale: install it on this computer and the phone (https://tailscale.com/download), then repeat hookback pair.
  - A reverse proxy or tunnel of yours that leads an https address to 127.0.0.1:%d and keeps the Host header.
  - A certificate for the hub itself: hookback server -addr 0.0.0.0:443 -tls-cert FILE -tls-key FILE -public-url https://NAME
Then an admin sets the address, and pairs the phone, at %s`

// requireHub fails unless a hub answers at the port.
func (r *run) requireHub(ctx context.Context) error {
	_, err := desktop.Probe(ctx, "http://127.0.0.1:"+strconv.Itoa(r.port))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, desktop.ErrForeign):
		return fmt.Errorf("port %d answers, but not as a hub without TLS. Name the port of the hub with --port", r.port)
	default:
		return fmt.Errorf("no hub runs at port %d of this machine. Start it with hookback up, or name its port with --port", r.port)
	}
}

// settings returns the page with the hub's address. It offers a public address to confirm.
func (r *run) settings(public string) string {
	page := "http://localhost:" + strconv.Itoa(r.port) + "/settings"
	if public != "" {
		page += "?address=" + url.QueryEscape(public)
	}
	return page + "#hub"
}

// serve lets Tailscale serve the hub at host, unless it does already, and opens the settings.
func (r *run) serve(ctx context.Context, t *tailscale, host string) int {
	port := strconv.Itoa(r.port)
	isServed, err := t.isServed(ctx, host, port)
	if err != nil {
		return r.std.PrintError("%v", err)
	}
	if !isServed {
		if !r.yes && !r.interactive {
			return r.std.PrintError("pair asks before it runs tailscale serve --bg %s, and needs a terminal for that; --yes runs it without asking", port)
		}
		question := fmt.Sprintf("This makes the hub reachable for the devices of your tailnet at https://%s, until you turn it off:\n\n"+
			"  tailscale serve --bg %s\n\nThe hub asks devices for a sign-in there. Run this command?", host, port)
		if !r.yes && !r.std.Confirm(ctx, r.std.Out, question) {
			return cli.ExitProblem
		}
		if err := t.serve(ctx, port); err != nil {
			return r.std.PrintError("tailscale serve: %v; its message is above, and the hub is as before", err)
		}
	}
	fmt.Fprintf(r.std.Out, "Tailscale serves the hub at https://%s. To turn it off: tailscale serve --https=443 off\n"+
		"Confirm this address in the hub's settings, and scan the QR code there with the phone:\n  %s\n"+
		"The first certificate can take a minute. If the hub does not find itself at the address, confirm it again.\n", host, r.settings("https://"+host))
	if r.interactive && !r.noOpen {
		if err := desktop.OpenBrowser(r.env, r.settings("https://"+host)); err != nil {
			fmt.Fprintf(r.std.Out, "%v. Open the page yourself.\n", err)
		}
	}
	return cli.ExitOK
}
