package risk

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/server/internal/risk/oversight"
	"github.com/hookback/hookback/server/internal/risk/shell"
)

// Rules about human oversight: calls that disable approval are riskier than they look.

var (
	changesHooks = rule{"oversight", high, "It changes an agent's hooks or the policy, which decide whether you are asked for approval."}
	answersHub   = rule{"oversight", high, "It answers a request in your place, or manages the hub."}
	changesHub   = rule{"oversight", high, "It reads or changes the hub's keys, pins or address."}
)

// networkPrograms reach addresses that their arguments name.
var networkPrograms = newSet(`curl wget http https xh curlie invoke-restmethod invoke-webrequest irm iwr nc ncat netcat socat openssl telnet websocat wscat lynx w3m links
	elinks aria2c axel httpx grpcurl ab hey wrk k6 vegeta siege fetch chromium google-chrome firefox open xdg-open start start-process bitsadmin certutil lwp-request GET POST`)

// checkHubRoutes adds a finding if a program that reaches addresses names one of the hub's routes that
// answer or manage requests, or if text with one is sent to the network.
func (a *assessor) checkHubRoutes(inv *invocation) {
	sent := inv.cmd.SentAway ||
		slices.ContainsFunc(inv.cmd.Redirects, func(r shell.Redirect) bool { return strings.HasPrefix(r.Target.Text, "/dev/tcp/") })
	if !networkPrograms[inv.name] && !sent {
		return
	}
	changes := curlData.matchesAny(inv.args) || sent
	for i := range inv.args {
		text := inv.args[i].Text
		changes = changes || len(text) < 64 && oversight.MayChange(text) || strings.HasPrefix(text, "--post") || strings.HasPrefix(text, "--body")
	}
	for i := range inv.args {
		if oversight.NamesHubRoute(inv.args[i].Text, changes) {
			a.add(answersHub, inv.span.ThroughIfShort(inv.args[i].Span))
			return
		}
	}
}

// checkHubFiles adds a finding if a program names a file of the hub, except those that only print text or
// search: echo, printf, grep and rg.
func (a *assessor) checkHubFiles(inv *invocation) {
	if inv.name == "echo" || inv.name == "printf" || inv.name == "grep" || inv.name == "rg" {
		return
	}
	for i := range inv.args {
		if oversight.IsHubFile(inv.args[i].Text) {
			a.add(changesHub, inv.span.ThroughIfShort(inv.args[i].Span))
			return
		}
	}
}
