// Package trust is hookback trust, verify and receipt: checks of a hub's key and signatures.
package trust

import (
	"context"
	"fmt"
	"slices"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
	"github.com/hookback/hookback/schema/sign"
)

const trustHelp = `hookback trust URL [flags]
hookback trust

Trusts the hub at URL: its answers count on this account. From then on, answers that no
trusted hub signed are denied. Compare the key id with the one that the hub prints when it starts and
shows in Settings. Needs a terminal, so that no agent can run it for you by accident.

Without URL, it lists the trusted hubs.

The first hub that is asked is trusted on first contact, unless its address comes from
HOOKBACK_URL. Until a hub is trusted, hooks ask no hub that only HOOKBACK_URL names and send it no
token; other commands do, and its unsigned answers count there. For every account of a machine, root
writes /etc/hookback/hub.pub with lines of the form ORIGIN ed25519 KEY, as hookback trust prints them; no other hub counts then.

Exit status: 0 trusted, 1 not changed, 2 no hub, no terminal or wrong usage.
`

// Run runs hookback trust.
func Run(ctx context.Context, args []string, env func(string) string, std cli.Streams) int {
	f := cli.NewBareFlags("trust", trustHelp)
	f.AddHubFlags(env)
	if status, done := f.ParseArgs(args, std); done {
		return status
	}
	trust, err := agentclient.LoadTrust(f.Options())
	if err != nil {
		return std.PrintError("%v", err)
	}
	switch len(f.Positional) {
	case 0:
		return listPins(trust, std)
	case 1:
		f.Hub = f.Positional[0]
	default:
		return std.PrintError("trust takes one URL, not %d arguments", len(f.Positional))
	}
	if !cli.IsTerminal(std.In) {
		return std.PrintError("trust requires a terminal, so that a person compares the key ids; nothing was changed")
	}
	return trustHub(ctx, f, trust, std)
}

// listPins prints the trusted hubs in the form of a pin file.
func listPins(trust *agentclient.Trust, std cli.Streams) int {
	if len(trust.Pins()) == 0 {
		fmt.Fprintln(std.Out, "This account trusts no hub yet.")
		return cli.ExitOK
	}
	for _, p := range trust.Pins() {
		fmt.Fprintf(std.Out, "# %s in %s\n%s ed25519 %s\n", p.KeyID(), trust.File(), p.Origin, sign.FormatPublicKey(p.Key))
	}
	return cli.ExitOK
}

// trustHub shows the keys and pins the new one if the person agrees.
func trustHub(ctx context.Context, f *cli.Flags, trust *agentclient.Trust, std cli.Streams) int {
	hub, pin, err := identifyHub(ctx, f)
	if err != nil {
		return std.PrintError("%s; nothing was changed", cli.ErrorWithHint(err))
	}
	if trust.HasOrigin(hub) &&
		slices.ContainsFunc(trust.Pins(), func(p agentclient.Pin) bool { return p.Key.Equal(pin.Key) && p.Origin == pin.Origin }) {
		fmt.Fprintf(std.Out, "This account already trusts hub %s.\n", pin)
		return cli.ExitOK
	}
	for _, old := range trust.Pins() {
		fmt.Fprintf(std.Err, "  trusted now  %s\n", old)
	}
	fmt.Fprintf(std.Err, "  this hub     %s\n", pin)
	question := "Trust this hub too?"
	if trust.HasOrigin(hub) {
		question = "Replace the key of " + pin.Origin + "?"
	}
	if !std.Confirm(ctx, std.Err, question+" Answers that it signs will count.") {
		return cli.ExitProblem
	}
	if err := trust.Remember(pin); err != nil {
		return std.PrintError("%v; nothing was changed", err)
	}
	fmt.Fprintf(std.Out, "This account trusts hub %s.\n", pin)
	return cli.ExitOK
}

// identifyHub returns the address of the first hub and the key that it proves to hold.
func identifyHub(ctx context.Context, f *cli.Flags) (hub string, pin agentclient.Pin, err error) {
	hubs, err := f.Hubs()
	if err != nil {
		return "", pin, err
	}
	client := agentclient.New(f.Options())
	defer client.Close()
	pin, err = client.Identify(ctx, hubs[0])
	return hubs[0], pin, err
}
