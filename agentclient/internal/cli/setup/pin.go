package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/internal/cli"
)

// pinHub pins the hub at an address if the account trusts none, and returns a sentence with
// the key id. It changes no pin.
func pinHub(ctx context.Context, f *cli.Flags, hub string) string {
	o := f.Options()
	o.Hubs = []string{hub}
	client := agentclient.New(o)
	defer client.Close()
	trust, err := client.Trust()
	if err != nil {
		return "No hub is trusted: " + err.Error()
	}
	pin, err := client.Identify(ctx, hub)
	switch {
	case cli.HasNoKey(err):
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

// describePins lists the trusted hubs, such as "hub 0123456789abcdef (http://127.0.0.1:4000)".
func describePins(pins []agentclient.Pin) string {
	texts := make([]string, len(pins))
	for i, p := range pins {
		texts[i] = p.String()
	}
	return "hub " + strings.Join(texts, ", ")
}
