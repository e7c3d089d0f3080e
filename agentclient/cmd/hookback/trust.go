package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

const trustHelp = `hookback trust URL [flags]
hookback trust

Trusts the hub at URL: its answers count on this account. Answers that no trusted hub
signed are denied. Compare the key id with the one that the hub prints when it starts and
shows in Settings. Needs a terminal, so that no agent can run it for you by accident.

Without URL, it lists the trusted hubs.

The first hub that is used is trusted on first contact, unless its address comes from
HOOKBACK_URL. For every account of a machine, root writes /etc/hookback/hub.pub with lines
of the form ORIGIN ed25519 KEY, as hookback trust prints them; no other hub counts then.

Exit status: 0 trusted, 1 not changed, 2 no hub, no terminal or wrong usage.
`

func runTrust(ctx context.Context, args []string, env func(string) string, std streams) int {
	f := newBareFlags("trust", trustHelp)
	f.addHubFlags(env)
	if status, done := f.parse(args, std); done {
		return status
	}
	trust, err := agentclient.LoadTrust(f.options())
	if err != nil {
		return std.printError("%v", err)
	}
	switch len(f.positional) {
	case 0:
		return listPins(trust, std)
	case 1:
		f.hub = f.positional[0]
	default:
		return std.printError("trust takes one URL, not %d arguments", len(f.positional))
	}
	if in, ok := std.in.(*os.File); !ok || !isTerminal(in) {
		return std.printError("trust requires a terminal, so that a person compares the key ids; nothing was changed")
	}
	return trustHub(ctx, f, trust, std)
}

// listPins prints the trusted hubs in the form of a pin file.
func listPins(trust *agentclient.Trust, std streams) int {
	if len(trust.Pins()) == 0 {
		fmt.Fprintln(std.out, "This account trusts no hub yet.")
		return exitOK
	}
	for _, p := range trust.Pins() {
		fmt.Fprintf(std.out, "# %s in %s\n%s ed25519 %s\n", p.KeyID(), trust.File(), p.Origin, schema.FormatPublicKey(p.Key))
	}
	return exitOK
}

// trustHub shows the keys and pins the new one if the person agrees.
func trustHub(ctx context.Context, f *flags, trust *agentclient.Trust, std streams) int {
	hub, pin, err := identifyHub(ctx, f)
	if err != nil {
		return std.printError("%s; nothing was changed", errorWithHint(err))
	}
	if trust.HasOrigin(hub) && slices.ContainsFunc(trust.Pins(), func(p agentclient.Pin) bool { return p.Key.Equal(pin.Key) && p.Origin == pin.Origin }) {
		fmt.Fprintf(std.out, "This account already trusts hub %s.\n", pin)
		return exitOK
	}
	for _, old := range trust.Pins() {
		fmt.Fprintf(std.err, "  trusted now  %s\n", old)
	}
	fmt.Fprintf(std.err, "  this hub     %s\n", pin)
	question := "Trust this hub too? Answers that it signs will count. [y/N] "
	if trust.HasOrigin(hub) {
		question = "Replace the key of " + pin.Origin + "? Answers that it signs will count. [y/N] "
	}
	fmt.Fprint(std.err, question)
	if answer, _ := bufio.NewReader(io.LimitReader(std.in, 1<<10)).ReadString('\n'); !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		fmt.Fprintln(std.err, "Nothing was changed.")
		return exitProblem
	}
	if err := trust.Remember(pin); err != nil {
		return std.printError("%v; nothing was changed", err)
	}
	fmt.Fprintf(std.out, "This account trusts hub %s.\n", pin)
	return exitOK
}

// identifyHub returns the address of the first hub and the key that it proves to hold.
func identifyHub(ctx context.Context, f *flags) (hub string, pin agentclient.Pin, err error) {
	hubs, err := f.hubs()
	if err != nil {
		return "", pin, err
	}
	client := agentclient.New(f.options())
	defer client.Close()
	pin, err = client.Identify(ctx, hubs[0])
	return hubs[0], pin, err
}

// pinHub pins the hub at an address if the account trusts none, and returns a sentence with
// the key id. It changes no pin.
func (f *flags) pinHub(ctx context.Context, hub string) string {
	o := f.options()
	o.Hubs = []string{hub}
	client := agentclient.New(o)
	defer client.Close()
	trust, err := client.Trust()
	if err != nil {
		return "No hub is trusted: " + err.Error()
	}
	pin, err := client.Identify(ctx, hub)
	switch {
	case hasNoKey(err):
		return "The hub at " + hub + " has no key, so its answers are not signed; update the hub"
	case err != nil:
		return "No hub answers at " + hub + " yet, so its key is not pinned; start it and run hookback trust " + hub
	case slices.ContainsFunc(trust.Pins(), func(p agentclient.Pin) bool { return p.Key.Equal(pin.Key) }):
		return fmt.Sprintf("This account trusts hub %s", pin)
	case len(trust.Pins()) > 0:
		return fmt.Sprintf("This account trusts %s, but the hub at %s has the key %s, so its answers are denied; to trust it, run hookback trust %s",
			describePins(trust.Pins()), hub, pin.KeyID(), hub)
	}
	if err := trust.Remember(pin); err != nil {
		return fmt.Sprintf("Hub %s is not trusted yet: %v", pin, err)
	}
	return fmt.Sprintf("This account now trusts hub %s; compare the key id with the one that the hub prints", pin)
}

// firstContactText states that the account trusts its first hub.
func firstContactText(p agentclient.Pin) string {
	return fmt.Sprintf("this account now trusts hub %s, the first one that it has contacted; compare the key id with the one that the hub prints", p)
}

// describePins lists the trusted hubs, such as "hub 0123456789abcdef (http://127.0.0.1:4000)".
func describePins(pins []agentclient.Pin) string {
	texts := make([]string, len(pins))
	for i, p := range pins {
		texts[i] = p.String()
	}
	return "hub " + strings.Join(texts, ", ")
}

// hasNoKey reports whether a hub is of a version without a key.
func hasNoKey(err error) bool { return errors.Is(err, schema.ErrNoRoute) }
