package app

import (
	"fmt"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
)

func checkPasskeys(from schema.PasskeyThreshold) error {
	switch from {
	case "", schema.PasskeyForUnknown, schema.PasskeyForHigh, schema.PasskeyForCritical:
		return nil
	default:
		return fmt.Errorf("-passkeys %s: must be unknown, high or critical", from)
	}
}

// newPasskeys returns the passkeys of a hub at an address, and at those that can change. Browsers support them
// only for host names and secure origins.
func newPasskeys(from schema.PasskeyThreshold, hub string, public auth.PublicOrigins) (*auth.Passkeys, error) {
	rp, ok := auth.RelyingPartyOf(withHostname(hub))
	if !ok && from != "" {
		return nil, fmt.Errorf("-passkeys %s: browsers support passkeys only at localhost and at https addresses with a host name, and this hub is at %s; set its public address with -public-url https://NAME", from, hub)
	}
	return &auth.Passkeys{For: from, RPID: rp.ID, Origin: rp.Origin, Public: public}, nil
}
