package app

import (
	"fmt"

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
	rp, ok := auth.RelyingPartyOf(withHostname(hub))
	if !ok {
		return nil, fmt.Errorf("-passkeys %s: browsers support passkeys only at localhost and at https addresses with a host name, and this hub is at %s; set its public address with -public-url https://NAME", from, hub)
	}
	return &auth.Passkeys{For: from, RPID: rp.ID, Origin: rp.Origin}, nil
}

// passkeys returns the passkeys of a hub whose address can change.
func (a *App) passkeys() (*auth.Passkeys, error) {
	k, err := passkeyConfig(a.cfg.Passkeys, a.publicURL())
	if err != nil {
		return nil, err
	}
	if k == nil {
		k = &auth.Passkeys{}
		if rp, ok := auth.RelyingPartyOf(withHostname(a.publicURL())); ok {
			k.RPID, k.Origin = rp.ID, rp.Origin
		}
	}
	k.Public = a.reach
	return k, nil
}
