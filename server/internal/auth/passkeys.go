package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/store"
)

const maxPasskeys = 20 // per person

// The pending WebAuthn ceremonies, by person.
var (
	registrations = flows.Kind{Name: "passkey registration", Limit: 1}
	assertions    = flows.Kind{Name: "passkey assertion", Limit: 20}
)

// ceremony is a pending registration or assertion.
type ceremony struct {
	Person  string
	At      RelyingParty
	Nonce   []byte // part of the challenge of an assertion
	Session webauthn.SessionData
}

// PasskeyThreshold returns which approvals require a passkey, or an
// empty string if passkeys are off.
func (s *Service) PasskeyThreshold() schema.PasskeyThreshold {
	if s == nil || s.Passkeys == nil {
		return ""
	}
	return s.Passkeys.For
}

// requiresPasskeys reports whether the hub was started with a threshold.
func (s *Service) requiresPasskeys() bool { return s.PasskeyThreshold() != "" }

// passkeyUser implements webauthn.User for a person.
type passkeyUser struct {
	id       []byte
	name     string
	passkeys []store.Passkey
}

func (d *passkeyUser) WebAuthnID() []byte          { return d.id }
func (d *passkeyUser) WebAuthnName() string        { return d.name }
func (d *passkeyUser) WebAuthnDisplayName() string { return d.name }

func (d *passkeyUser) WebAuthnCredentials() []webauthn.Credential {
	list := make([]webauthn.Credential, len(d.passkeys))
	for i, k := range d.passkeys {
		list[i] = webauthn.Credential{
			ID: k.Credential, PublicKey: k.PublicKey, AttestationFormat: string(protocol.AttestationFormatNone),
			Flags:         webauthn.NewCredentialFlags(protocol.AuthenticatorFlags(k.Flags)),
			Authenticator: webauthn.Authenticator{SignCount: k.SignCount},
		}
		for _, t := range k.Transports {
			list[i].Transport = append(list[i].Transport, protocol.AuthenticatorTransport(t))
		}
	}
	return list
}

// passkeyUserFor returns a person with the passkeys that work at an address. The user handle is a
// hash, because authenticators may show it.
func (s *Service) passkeyUserFor(person string, at RelyingParty) *passkeyUser {
	id := sha256.Sum256([]byte(s.Store.HubID() + "\npasskeys of\n" + person))
	return &passkeyUser{id[:], person, s.current.Load().passkeysAt(at, person)}
}

// requireDashboardUser returns an error unless the caller is signed in to the dashboard and
// has an account. Tokens are refused, because a program has no authenticator.
func (s *Service) requireDashboardUser(id Identity) error {
	if err := s.Check(schema.AccessOwn, id); err != nil {
		return err
	}
	if s.current.Load().findPerson(id.Name) == nil {
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Manage passkeys in the dashboard while you are signed in there."}
	}
	return nil
}

// requirePasskeysEnabled returns the relying party of a dashboard user, or an error if the caller is
// none or the hub uses no passkeys.
func (s *Service) requirePasskeysEnabled(id Identity) (RelyingParty, error) {
	if err := s.requireDashboardUser(id); err != nil {
		return RelyingParty{}, err
	}
	rp, ok := s.relyingParty(id)
	if !ok {
		return rp, &schema.HintError{Err: schema.ErrNoRoute, Hint: "Passkeys are off on this hub. Start it with -passkeys high."}
	}
	return rp, nil
}

// MyPasskeys returns the caller's passkeys, the oldest first.
func (s *Service) MyPasskeys(caller Identity) ([]schema.Passkey, error) {
	if err := s.requireDashboardUser(caller); err != nil {
		return nil, err
	}
	list := []schema.Passkey{}
	for _, k := range s.current.Load().passkeysOf(caller.Name) {
		list = append(list, publicPasskey(&k))
	}
	slices.SortFunc(list, func(a, b schema.Passkey) int { return int(a.CreatedAt - b.CreatedAt) })
	return list, nil
}

func publicPasskey(k *store.Passkey) schema.Passkey {
	return schema.Passkey{ID: k.ID, Name: k.Name, At: k.RPID, CreatedAt: toMillis(k.CreatedAt), LastUsedAt: toMillis(k.LastUsedAt)}
}

// firstPasskeyWithin is how long after signing in a person may register the first passkey: later,
// a stolen session could.
const firstPasskeyWithin = 10 * time.Minute

// NewPasskey starts the registration of a passkey at the address of the caller's page and voids an
// earlier start. The first passkey takes a session that has just begun, a further one the assertion
// of an existing one. If none of them works at this address, it takes a session that has just begun
// with a link that a passkey confirmed.
func (s *Service) NewPasskey(ctx context.Context, proof json.RawMessage, caller Identity) (options schema.PasskeyOptions, err error) {
	at, err := s.requirePasskeysEnabled(caller)
	if err != nil {
		return options, err
	}
	user := s.passkeyUserFor(caller.Name, at)
	own := len(s.current.Load().passkeysOf(caller.Name))
	if len(user.passkeys) == 0 {
		err = s.requireNewSession(caller, own > 0)
	} else {
		err = s.confirm(ctx, caller, schema.CredentialAction{Do: schema.ActionAddPasskey, Target: caller.Name}, proof)
	}
	if err != nil {
		return options, err
	}
	if own >= maxPasskeys {
		return options, &schema.FieldError{Detail: "would make more than 20 passkeys; remove old ones"}
	}
	party, err := at.webAuthn()
	if err != nil {
		return options, err
	}
	creation, session, err := party.BeginRegistration(user,
		webauthn.WithExclusions(webauthn.Credentials(user.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return options, err
	}
	pending := ceremony{Person: caller.Name, At: at, Session: *session}
	if err := s.flows.Put(ctx, flows.Key{Kind: registrations, Owner: caller.Name, Secret: caller.Name}, pending, s.Clock().Add(ceremonyLifetime)); err != nil {
		return options, err
	}
	options.PublicKey, err = json.Marshal(creation.Response)
	return options, err
}

// requireNewSession returns an error unless the caller's session came from a link or the provider
// a short time ago. If confirmed is set, a passkey must have confirmed the link.
func (s *Service) requireNewSession(caller Identity, confirmed bool) error {
	dir := s.current.Load()
	i := slices.IndexFunc(dir.SignIns, func(session store.SignIn) bool { return caller.Via == "session" && session.ID == caller.ID })
	isNew := i >= 0 && s.Clock().Before(dir.SignIns[i].CreatedAt.Add(firstPasskeyWithin))
	switch {
	case isNew && (dir.SignIns[i].Confirmed || !confirmed):
		return nil
	case confirmed:
		return &schema.HintError{Err: schema.ErrProofRequired, Hint: "Your passkeys work at another address. Create a sign-in link or pair this device there, and add a passkey here within 10 minutes. " + s.elsewhere(caller.Name)}
	default:
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "The first passkey takes a sign-in younger than 10 minutes. Create a sign-in link for yourself, open it, and add the passkey then."}
	}
}

// AddPasskey finishes the registration that NewPasskey started.
func (s *Service) AddPasskey(ctx context.Context, draft schema.PasskeyDraft, caller Identity) (schema.Passkey, error) {
	at, err := s.requirePasskeysEnabled(caller)
	if err != nil {
		return schema.Passkey{}, err
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	name := strings.Join(strings.Fields(draft.Name), " ")
	if name == "" || len(name) > maxName || sanitize(name, maxName) != name {
		return schema.Passkey{}, &schema.FieldError{Field: "name", Detail: "is required: at most 64 bytes of visible characters"}
	}
	credential, err := s.verifyRegistration(ctx, s.passkeyUserFor(caller.Name, at), at, draft.Credential)
	if err != nil {
		return schema.Passkey{}, err
	}
	k := store.Passkey{
		ID: newID("k_"), Person: caller.Name, Name: name, RPID: at.ID, CreatedAt: s.Clock(),
		Credential: credential.ID, PublicKey: credential.PublicKey,
		SignCount: credential.Authenticator.SignCount, Flags: byte(credential.Flags.ProtocolValue()),
	}
	for _, t := range credential.Transport {
		k.Transports = append(k.Transports, string(t))
	}
	err = s.applyChange(ctx, &store.PeopleChange{People: store.People{Passkeys: []store.Passkey{k}}},
		ledgerRecord("passkey.added", caller, map[string]any{"passkey": k.ID, "name": k.Name, "at": at.ID}))
	return publicPasskey(&k), err
}

// verifyRegistration checks a new credential against the pending registration.
func (s *Service) verifyRegistration(
	ctx context.Context, user *passkeyUser, at RelyingParty, raw json.RawMessage,
) (*webauthn.Credential, error) {
	var registration ceremony
	isPending, err := s.flows.Take(ctx, flows.Key{Kind: registrations, Secret: user.name}, &registration)
	if err != nil {
		return nil, err
	}
	invalid := func(detail string) error { return &schema.FieldError{Field: "credential", Detail: detail} }
	if !isPending || registration.At != at {
		return nil, invalid("belongs to a registration that expired or was never started; start again")
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(raw)
	if err != nil {
		return nil, invalid("is not a valid WebAuthn response")
	}
	party, err := at.webAuthn()
	if err != nil {
		return nil, err
	}
	credential, err := party.CreateCredential(user, registration.Session, parsed)
	if err != nil {
		s.Log.Warn("passkey registration rejected", "person", user.name, "err", err)
		return nil, invalid("was rejected: it must be created at " + at.Origin + " by a device that verifies the user")
	}
	isRegistered := func(k store.Passkey) bool { return string(k.Credential) == string(credential.ID) }
	if slices.ContainsFunc(s.current.Load().People.Passkeys, isRegistered) {
		return nil, invalid("is already registered")
	}
	return credential, nil
}

// RemovePasskey deletes a passkey of the caller, with the assertion of a passkey. The last one
// stays while the hub uses passkeys.
func (s *Service) RemovePasskey(ctx context.Context, id string, proof json.RawMessage, caller Identity) error {
	if err := s.requireDashboardUser(caller); err != nil {
		return err
	}
	switch own := s.current.Load().passkeysOf(caller.Name); {
	case !slices.ContainsFunc(own, func(k store.Passkey) bool { return k.ID == id }):
		return errNoSuchPasskey
	case s.requiresPasskeys() && len(own) == 1:
		return errLastPasskey
	}
	if err := s.confirm(ctx, caller, schema.CredentialAction{Do: schema.ActionRemovePasskey, Target: id}, proof); err != nil {
		return err
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	own := s.current.Load().passkeysOf(caller.Name)
	if s.requiresPasskeys() && len(own) == 1 {
		return errLastPasskey
	}
	for _, k := range own {
		if k.ID == id {
			return s.applyChange(ctx, &store.PeopleChange{RemovedPasskeys: []string{id}},
				ledgerRecord("passkey.removed", caller, map[string]any{"passkey": id, "name": k.Name}))
		}
	}
	return errNoSuchPasskey
}

var (
	errNoSuchPasskey = &schema.HintError{Err: schema.ErrNotFound, Hint: "You have no passkey with this id."}
	errLastPasskey   = &schema.HintError{Err: schema.ErrNotAllowed, Hint: "This is your last passkey, and the hub requires one. Add another one first. If the device is lost, an admin has to reset your account."}
)
