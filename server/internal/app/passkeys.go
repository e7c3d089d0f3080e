package app

import (
	"fmt"
	"net/netip"
	"net/url"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

var passkeyFlags = []flagSpec{
	{"passkeys", "RISK", "none", "from which risk on (high or critical) an answer that allows something needs a passkey",
		func(c *Config, s string) error { c.Passkeys = schema.Risk(s); return nil }},
}

func checkPasskeys(from schema.Risk) error {
	switch from {
	case "", schema.HighRisk, schema.CriticalRisk:
		return nil
	default:
		return fmt.Errorf("-passkeys %s: must be high or critical", from)
	}
}

// passkeyConfig is what people makes of the risk; nil when none is named. hub is the address
// that browsers know the hub by: they have passkeys for a name only, and nowhere that
// somebody in between could change the page.
func passkeyConfig(from schema.Risk, hub string) (*auth.Passkeys, error) {
	if from == "" {
		return nil, nil
	}
	u, err := url.Parse(withHostname(hub))
	if err != nil {
		return nil, fmt.Errorf("-passkeys %s: %w", from, err)
	}
	_, ipErr := netip.ParseAddr(u.Hostname())
	if ipErr == nil || u.Scheme != "https" && u.Hostname() != "localhost" {
		return nil, fmt.Errorf("-passkeys %s: browsers have passkeys for localhost and for https addresses with a name, and this hub is at %s: say where people reach it with -public-url https://NAME", from, hub)
	}
	host := u.Host
	if u.Port() == map[string]string{"https": "443", "http": "80"}[u.Scheme] { // browsers don't say it
		host = u.Hostname()
	}
	return &auth.Passkeys{MinRisk: from, RPID: u.Hostname(), Origin: u.Scheme + "://" + host}, nil
}
