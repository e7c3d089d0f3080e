package auth

import (
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/hookback/hookback/schema"
)

const ceremonyLifetime = 2 * time.Minute

// Passkeys configures which answers need a passkey, and the addresses of the hub's page. A passkey
// belongs to the host name at which it was created, its relying party.
type Passkeys struct {
	For    schema.PasskeyThreshold // the approvals that need one; empty: see Service.PasskeyThreshold
	RPID   string                  // relying party ID of the hub's address at start: its host name
	Origin string                  // that address, scheme://host:port
	Public PublicOrigins           // further addresses; nil: none
}

// PublicOrigins are addresses of the hub's page that can change while it runs.
type PublicOrigins interface {
	// Origins returns the addresses of the page as scheme://host:port, none of another hub.
	Origins() []string
	// IsLocal reports whether only this machine can open the page.
	IsLocal() bool
}

// RelyingParty is an address at which the hub's page can use passkeys.
type RelyingParty struct{ ID, Origin string }

// RelyingPartyOf returns the relying party of an address. ok is false if browsers support no
// passkeys there: they need a host name and a secure origin.
func RelyingPartyOf(address string) (rp RelyingParty, ok bool) {
	u, err := url.Parse(strings.ToLower(address))
	if err != nil || u.Hostname() == "" {
		return rp, false
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil || u.Scheme != "https" && u.Hostname() != "localhost" {
		return rp, false
	}
	host := u.Host
	if u.Port() == map[string]string{"https": "443", "http": "80"}[u.Scheme] { // browsers omit the default port from origins
		host = u.Hostname()
	}
	return RelyingParty{ID: u.Hostname(), Origin: u.Scheme + "://" + host}, true
}

// relyingParties returns the addresses at which the page can use passkeys now, that of the start first.
func (k *Passkeys) relyingParties() (list []RelyingParty) {
	if k.Origin != "" {
		list = append(list, RelyingParty{k.RPID, k.Origin})
	}
	if k.Public == nil {
		return list
	}
	for _, origin := range k.Public.Origins() {
		if rp, ok := RelyingPartyOf(origin); ok && (len(list) == 0 || list[0] != rp) {
			list = append(list, rp)
		}
	}
	return list
}

// isKnown reports whether an address is still one of the hub's.
func (k *Passkeys) isKnown(rp RelyingParty) bool {
	for _, known := range k.relyingParties() {
		if known == rp {
			return true
		}
	}
	return false
}

func (rp RelyingParty) webAuthn() (*webauthn.WebAuthn, error) {
	timeout := webauthn.TimeoutConfig{Timeout: ceremonyLifetime, TimeoutUVD: ceremonyLifetime}
	return webauthn.New(&webauthn.Config{
		RPID: rp.ID, RPDisplayName: "Hookback", RPOrigins: []string{rp.Origin},
		AttestationPreference: protocol.PreferNoAttestation, // any make of authenticator is accepted
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementDiscouraged, UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Login: timeout, Registration: timeout},
		// Some password managers return extensions that were not requested. They are
		// ignored.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
}

// elsewhere returns a sentence that names an address at which a person's passkeys work, or reports that
// none of them works any more.
func (s *Service) elsewhere(person string) string {
	for _, rp := range s.Passkeys.relyingParties() {
		if len(s.current.Load().passkeysAt(rp, person)) > 0 {
			return "Your passkey works at " + rp.Origin + ". Do this there."
		}
	}
	return "Your passkeys belong to an address that this hub no longer has. Set that address again, or have your account reset."
}

// relyingParty returns the address whose passkeys a caller can use: that of the caller's page, or the
// first one if the page has another address. ok is false if the hub uses no passkeys. A hub without
// a threshold uses them while other devices reach it, or while a person has one.
func (s *Service) relyingParty(caller Identity) (rp RelyingParty, ok bool) {
	if s == nil || s.Passkeys == nil {
		return rp, false
	}
	if k := s.Passkeys; k.For == "" && (k.Public == nil || k.Public.IsLocal()) && len(s.current.Load().People.Passkeys) == 0 {
		return rp, false
	}
	list := s.Passkeys.relyingParties()
	for _, rp := range list {
		if _, host, _ := strings.Cut(rp.Origin, "://"); caller.Page != "" && (caller.Page == rp.Origin || caller.Page == host) {
			return rp, true
		}
	}
	if len(list) == 0 {
		return rp, false
	}
	return list[0], true
}
