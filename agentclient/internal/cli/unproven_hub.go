package cli

import (
	"strings"

	"github.com/hookback/hookback/agentclient"
)

// An agent's project settings can set the environment of its hooks. A hub that only HOOKBACK_URL names and
// that no pin vouches for may be anyone's, so it gets neither the token nor a question: nothing that it
// answers could count. It gets the events, and its freezes deny.

// UnprovenHub returns why no answer of the hub counts, with the remedy; "" if one can.
func (f *Flags) UnprovenHub() string {
	address := strings.TrimSpace(f.Env("HOOKBACK_URL"))
	if f.Hub != "" || address == "" || f.Unsigned {
		return ""
	}
	trust, err := agentclient.LoadTrust(f.Options())
	if err != nil || len(trust.Pins()) > 0 {
		return "" // then only what a pinned hub signed counts
	}
	return "Only the variable HOOKBACK_URL names the hub " + address + ", and this account trusts no hub, so no answer from there counts. " +
		"Run hookback trust " + address + " in a terminal, or hookback install, and try again."
}

// ProvenOptions returns the options of requests by a program that an agent starts: without a token for an
// unproven hub. Then logf gets the reason.
func (f *Flags) ProvenOptions(logf func(format string, args ...any)) agentclient.Options {
	o := f.Options()
	token := o.Env("HOOKBACK_TOKEN")
	if token == "" || strings.Contains(token, "@http") { // it names its hub
		return o
	}
	reason := f.UnprovenHub()
	if reason == "" {
		return o
	}
	logf("The token is not sent. %s", reason)
	env := o.Env
	o.Env = func(name string) string {
		if name == "HOOKBACK_TOKEN" {
			return ""
		}
		return env(name)
	}
	return o
}
