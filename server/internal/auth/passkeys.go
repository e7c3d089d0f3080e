package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Passkeys say which answers need one, and where people have theirs.
type Passkeys struct {
	MinRisk schema.Risk // and what is above it
	RPID    string      // the name that passkeys belong to: the hub's
	Origin  string      // of the page that may use them, scheme://host:port
}

const (
	ceremonyFor = 2 * time.Minute
	maxPasskeys = 20 // of one person
	maxAsked    = 20 // challenges of one person that nobody has answered
)

// proving is what has begun and not ended of people's passkeys. It is lost when the hub
// stops; whoever was at it begins again.
type proving struct {
	web    *webauthn.WebAuthn // nil: no answer needs a passkey
	mu     sync.Mutex
	making map[string]*ceremony // :: person → the passkey that they make
	asked  map[string]*ceremony // :: challenge → the answer that it is for
}

// ceremony is what a device was asked to sign.
type ceremony struct {
	person  string
	nonce   []byte // of a challenge for an answer
	session webauthn.SessionData
	ends    time.Time
}

func (k *Passkeys) web() (*webauthn.WebAuthn, error) {
	timeout := webauthn.TimeoutConfig{Timeout: ceremonyFor, TimeoutUVD: ceremonyFor}
	return webauthn.New(&webauthn.Config{
		RPID: k.RPID, RPDisplayName: "Hookback", RPOrigins: []string{k.Origin},
		AttestationPreference: protocol.PreferNoAttestation, // which make of device it is, is theirs to choose
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementDiscouraged, UserVerification: protocol.VerificationRequired,
		},
		Timeouts: webauthn.TimeoutsConfig{Login: timeout, Registration: timeout},
		// Some managers of passwords tell more than they were asked. None of it counts.
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore,
	})
}

// PasskeyMinRisk is the risk from which an answer that allows something needs a passkey;
// empty: none does.
func (p *Service) PasskeyMinRisk() schema.Risk {
	if p == nil || p.Passkeys == nil {
		return ""
	}
	return p.Passkeys.MinRisk
}

func (s *state) passkeysOf(person string) (list []store.Passkey) {
	for _, k := range s.People.Passkeys {
		if k.Person == person {
			list = append(list, k)
		}
	}
	return list
}

// device is a person as WebAuthn knows them.
type device struct {
	id   []byte
	name string
	keys []store.Passkey
}

func (d *device) WebAuthnID() []byte          { return d.id }
func (d *device) WebAuthnName() string        { return d.name }
func (d *device) WebAuthnDisplayName() string { return d.name }

func (d *device) WebAuthnCredentials() []webauthn.Credential {
	list := make([]webauthn.Credential, len(d.keys))
	for i, k := range d.keys {
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

// deviceOf is somebody with their passkeys. The handle is no name: devices may show it.
func (p *Service) deviceOf(person string) *device {
	id := sha256.Sum256([]byte(p.Store.HubID() + "\npasskeys of\n" + person))
	return &device{id[:], person, p.now.Load().passkeysOf(person)}
}

// atPage is nil for a person at a page who may answer: a program has no device to touch.
func (p *Service) atPage(w Identity) error {
	if err := isPerson(w); err != nil {
		return err
	}
	if err := p.RequireOperator(w); err != nil {
		return err
	}
	if w.Via != "session" && w.Via != "proxy" || p.now.Load().person(w.Name) == nil {
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Passkeys are looked after in the dashboard, by whoever is signed in there."}
	}
	return nil
}

// usesPasskeys is nil for a person at a page of a hub that wants passkeys.
func (p *Service) usesPasskeys(w Identity) error {
	if err := p.atPage(w); err != nil {
		return err
	}
	if p.proving.web == nil {
		return &schema.HintError{Err: schema.ErrNoRoute, Hint: "This hub asks for no passkeys: start it with -passkeys high."}
	}
	return nil
}

// MyPasskeys are the caller's own, the oldest first.
func (p *Service) MyPasskeys(by Identity) ([]schema.Passkey, error) {
	if err := p.atPage(by); err != nil {
		return nil, err
	}
	list := []schema.Passkey{}
	for _, k := range p.now.Load().passkeysOf(by.Name) {
		list = append(list, shownPasskey(&k))
	}
	slices.SortFunc(list, func(a, b schema.Passkey) int { return int(a.CreatedAt - b.CreatedAt) })
	return list, nil
}

func shownPasskey(k *store.Passkey) schema.Passkey {
	return schema.Passkey{ID: k.ID, Name: k.Name, CreatedAt: millis(k.CreatedAt), LastUsedAt: millis(k.LastUsedAt)}
}

// NewPasskey begins to make a passkey of the caller's; an earlier beginning is void.
func (p *Service) NewPasskey(by Identity) (options schema.PasskeyOptions, err error) {
	if err := p.usesPasskeys(by); err != nil {
		return options, err
	}
	d := p.deviceOf(by.Name)
	if len(d.keys) >= maxPasskeys {
		return options, &schema.FieldError{Detail: "would make more than 20 passkeys: remove old ones"}
	}
	creation, session, err := p.proving.web.BeginRegistration(d, webauthn.WithExclusions(webauthn.Credentials(d.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return options, err
	}
	p.proving.mu.Lock()
	defer p.proving.mu.Unlock()
	if p.proving.making == nil {
		p.proving.making = map[string]*ceremony{}
	}
	p.proving.making[by.Name] = &ceremony{person: by.Name, session: *session, ends: p.Clock().Add(ceremonyFor)}
	options.PublicKey, err = json.Marshal(creation.Response)
	return options, err
}

// AddPasskey registers what the caller's browser made.
func (p *Service) AddPasskey(ctx context.Context, made schema.PasskeyDraft, by Identity) (schema.Passkey, error) {
	if err := p.usesPasskeys(by); err != nil {
		return schema.Passkey{}, err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	name := strings.Join(strings.Fields(made.Name), " ")
	if name == "" || len(name) > maxName || printable(name, maxName) != name {
		return schema.Passkey{}, &schema.FieldError{Field: "name", Detail: "is needed, in ordinary signs and at most 64 bytes: it tells passkeys apart"}
	}
	d := p.deviceOf(by.Name)
	credential, err := p.made(d, made.Credential)
	if err != nil {
		return schema.Passkey{}, err
	}
	k := store.Passkey{
		ID: "k_" + newSecret(12, idChars), Person: by.Name, Name: name, CreatedAt: p.Clock(),
		Credential: credential.ID, PublicKey: credential.PublicKey,
		SignCount: credential.Authenticator.SignCount, Flags: byte(credential.Flags.ProtocolValue()),
	}
	for _, t := range credential.Transport {
		k.Transports = append(k.Transports, string(t))
	}
	err = p.change(ctx, &store.PeopleChange{
		People: store.People{Passkeys: []store.Passkey{k}},
		Acts:   []store.LedgerRecord{act("passkey.added", by, map[string]any{"passkey": k.ID, "name": k.Name})},
	})
	return shownPasskey(&k), err
}

// made checks a new credential against what its device was asked for.
func (p *Service) made(d *device, raw json.RawMessage) (*webauthn.Credential, error) {
	p.proving.mu.Lock()
	begun := p.proving.making[d.name]
	delete(p.proving.making, d.name)
	p.proving.mu.Unlock()
	wrong := func(detail string) error { return &schema.FieldError{Field: "credential", Detail: detail} }
	if begun == nil || p.over(begun.ends) {
		return nil, wrong("was asked for more than two minutes ago, or never: begin again")
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(raw)
	if err != nil {
		return nil, wrong("is none that a browser makes")
	}
	credential, err := p.proving.web.CreateCredential(d, begun.session, parsed)
	if err != nil {
		p.Log.Warn("a passkey was refused", "person", d.name, "err", err)
		return nil, wrong("is not what was asked for: it must be made on this hub's own page (" + p.Passkeys.Origin + "), by a device that checks who you are")
	}
	known := func(k store.Passkey) bool { return string(k.Credential) == string(credential.ID) }
	if len(d.keys) >= maxPasskeys || slices.ContainsFunc(p.now.Load().People.Passkeys, known) {
		return nil, wrong("is registered already")
	}
	return credential, nil
}

// RemovePasskey forgets one of the caller's own.
func (p *Service) RemovePasskey(ctx context.Context, id string, by Identity) error {
	if err := p.atPage(by); err != nil {
		return err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	for _, k := range p.now.Load().passkeysOf(by.Name) {
		if k.ID == id {
			return p.change(ctx, &store.PeopleChange{
				WithoutPasskey: []string{id},
				Acts:           []store.LedgerRecord{act("passkey.removed", by, map[string]any{"passkey": id, "name": k.Name})},
			})
		}
	}
	return &schema.HintError{Err: schema.ErrNotFound, Hint: "There is no such passkey of yours."}
}
