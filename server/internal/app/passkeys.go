package app

import (
	"fmt"
	"net/netip"
	"net/url"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

var passkeyFlags = []flagSpec{
	{"passkeys", "LEVEL", "none", "approvals that require a passkey: unknown (all but calls that are known to be harmless), high (high and critical risk) or critical",
		func(c *Config, s string) error { c.Passkeys = schema.PasskeyThreshold(s); return nil }},
}

func checkPasskeys(from schema.PasskeyThreshold) error {
	switch from {
	case "", schema.PasskeyForUnknown, schema.PasskeyForHigh, schema.PasskeyForCritical:
		return nil
	default:
		return fmt.Errorf("-passkeys %s: must be unknown, high or critical", from)
	}
}

// passkeyConfig returns the relying party for the hub's public URL, or nil if passkeys are
// off. Browsers support passkeys only for host names and secure origins.
func passkeyConfig(from schema.PasskeyThreshold, hub string) (*auth.Passkeys, error) {
	if from == "" {
		return nil, nil
	}
	u, err := url.Parse(withHostname(hub))
	if err != nil {
		return nil, fmt.Errorf("-passkeys %s: %w", from, err)
	}
	_, ipErr := netip.ParseAddr(u.Hostname())
	if ipErr == nil || u.Scheme != "https" && u.Hostname() != "localhost" {
		return nil, fmt.Errorf("-passkeys %s: browsers support passkeys only at localhost and at https addresses with a host name, and this hub is at %s; set its public address with -public-url https://NAME", from, hub)
	}
	host := u.Host
	if u.Port() == map[string]string{"https": "443", "http": "80"}[u.Scheme] { // browsers omit the default port from origins
		host = u.Hostname()
	}
	return &auth.Passkeys{For: from, RPID: u.Hostname(), Origin: u.Scheme + "://" + host}, nil
}
