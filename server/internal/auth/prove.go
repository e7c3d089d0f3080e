package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// AnswerDigest is the SHA-256 of an answer and of what it answers, in all that counts.
type AnswerDigest [sha256.Size]byte

// challengeOf is what a device signs: only this person's answer fits it.
func challengeOf(of AnswerDigest, person string, nonce []byte) []byte {
	h := sha256.New()
	h.Write(of[:])
	h.Write(nonce) // always as long
	h.Write([]byte(person))
	return h.Sum(nil)
}

// Challenge is what the caller's device is to sign for exactly one answer.
func (p *Service) Challenge(by Identity, of AnswerDigest) (options schema.PasskeyOptions, err error) {
	if err := p.usesPasskeys(by); err != nil {
		return options, err
	}
	d := p.deviceOf(by.Name)
	if len(d.keys) == 0 {
		return options, &schema.HintError{Err: schema.ErrProofRequired, Hint: "You have none yet. Add one under Settings, People, at " + p.Passkeys.Origin + "."}
	}
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce) // never fails: the runtime ends the program instead
	challenge := challengeOf(of, by.Name, nonce)
	assertion, session, err := p.proving.web.BeginLogin(d, webauthn.WithChallenge(challenge), webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return options, err
	}
	p.proving.ask(session.Challenge, &ceremony{person: by.Name, nonce: nonce, session: *session, ends: p.Clock().Add(ceremonyFor)}, p)
	options.PublicKey, err = json.Marshal(assertion.Response)
	return options, err
}

// ask keeps a challenge until it is answered, and no more of one person than a few.
func (o *proving) ask(challenge string, c *ceremony, p *Service) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked == nil {
		o.asked = map[string]*ceremony{}
	}
	own, oldest := 0, ""
	for key, other := range o.asked {
		switch {
		case p.over(other.ends):
			delete(o.asked, key)
		case other.person == c.person:
			if own++; oldest == "" || other.ends.Before(o.asked[oldest].ends) {
				oldest = key
			}
		}
	}
	if own >= maxAsked {
		delete(o.asked, oldest)
	}
	o.asked[challenge] = c
}

// take gives out a challenge, once.
func (o *proving) take(challenge string) *ceremony {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.asked[challenge]
	delete(o.asked, challenge)
	return c
}

// noProof refuses a proof that proves nothing.
func noProof(why string) error {
	return &schema.HintError{
		Err:  &schema.FieldError{Field: "proof", Detail: why, Cause: schema.ErrProofRequired},
		Hint: "Nothing was answered. Answer again in the dashboard, and use your passkey for it.",
	}
}

// VerifyAssertion is nil when proof is by's own passkey's signature for exactly this answer. It
// counts once, whatever becomes of the answer.
func (p *Service) VerifyAssertion(ctx context.Context, by Identity, proof json.RawMessage, of AnswerDigest) error {
	if p == nil || p.proving.web == nil {
		return &schema.FieldError{Field: "proof", Detail: "can't be checked: this hub asks for no passkeys", Cause: schema.ErrWrongAnswer}
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(proof)
	if err != nil {
		return noProof("is none that a browser makes")
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	challenge := parsed.Response.CollectedClientData.Challenge
	begun := p.proving.take(challenge)
	switch {
	case begun == nil, p.over(begun.ends):
		return noProof("has been used, or is older than two minutes")
	case by.Agent || !by.Known() || by.Name != begun.person:
		return noProof("is another person's")
	case base64.RawURLEncoding.EncodeToString(challengeOf(of, by.Name, begun.nonce)) != challenge:
		return noProof("is of another answer, or what is asked was changed since")
	}
	d := p.deviceOf(by.Name)
	credential, err := p.proving.web.ValidateLogin(d, begun.session, parsed)
	if err != nil {
		p.Log.Warn("the proof of a passkey was refused", "person", by.Name, "err", err)
		return noProof("is no signature of a passkey of yours that checked who you are")
	}
	k := d.keys[slices.IndexFunc(d.keys, func(k store.Passkey) bool { return string(k.Credential) == string(credential.ID) })]
	if credential.Authenticator.CloneWarning {
		p.note(ctx, act("passkey.refused", by, map[string]any{"passkey": k.ID, "name": k.Name, "because": "its count went back: there may be a copy of it"}))
		return noProof("counts less than before: there may be a copy of this passkey. Remove it, and add another one")
	}
	k.SignCount, k.Flags, k.LastUsedAt = credential.Authenticator.SignCount, byte(credential.Flags.ProtocolValue()), p.Clock()
	return p.change(ctx, &store.PeopleChange{People: store.People{Passkeys: []store.Passkey{k}}})
}
