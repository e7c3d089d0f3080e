package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/store"
)

// Challenge starts a passkey assertion for exactly one text, such as an answer together with its
// question, and returns the options for the caller's browser.
func (s *Service) Challenge(ctx context.Context, caller Identity, text []byte) (options schema.PasskeyOptions, err error) {
	at, err := s.requirePasskeysEnabled(caller)
	if err != nil {
		return options, err
	}
	user := s.passkeyUserFor(caller.Name, at)
	switch {
	case len(user.passkeys) > 0:
	case len(s.current.Load().passkeysOf(caller.Name)) > 0:
		return options, &schema.HintError{Err: schema.ErrProofRequired, Hint: s.elsewhere(caller.Name)}
	default:
		return options, &schema.HintError{Err: schema.ErrProofRequired, Hint: "You have none yet. Add one under Team, People, at " + at.Origin + "."}
	}
	party, err := at.webAuthn()
	if err != nil {
		return options, err
	}
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce) // never fails: the runtime aborts the program instead
	challenge := sign.PasskeyChallenge(sha256.Sum256(text), nonce, caller.Name)
	assertion, session, err := party.BeginLogin(user, webauthn.WithChallenge(challenge),
		webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return options, err
	}
	pending := ceremony{Person: caller.Name, At: at, Nonce: nonce, Session: *session}
	key := flows.Key{Kind: assertions, Owner: caller.Name, Secret: session.Challenge}
	if err := s.flows.Put(ctx, key, pending, s.Clock().Add(ceremonyLifetime)); err != nil {
		return options, err
	}
	options.PublicKey, err = json.Marshal(assertion.Response)
	return options, err
}

// assertionError reports a passkey assertion that is not accepted.
func assertionError(why string) error {
	return &schema.HintError{
		Err:  &schema.FieldError{Field: "proof", Detail: why, Cause: schema.ErrProofRequired},
		Hint: "Nothing was answered. Answer again in the dashboard and confirm with your passkey.",
	}
}

// VerifyAssertion checks that proof is a passkey assertion by the caller for exactly this text, and
// returns it in the form that can be verified later. The challenge is used up even if the answer
// fails later.
func (s *Service) VerifyAssertion(
	ctx context.Context, caller Identity, proof json.RawMessage, text []byte,
) (verified sign.PasskeyProof, err error) {
	if _, ok := s.relyingParty(caller); !ok {
		return verified, &schema.FieldError{Field: "proof", Detail: "cannot be verified: passkeys are off on this hub", Cause: schema.ErrWrongAnswer}
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(proof)
	if err != nil {
		return verified, assertionError("is not a valid WebAuthn response")
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	s.refreshLocked(ctx) // its counter may have grown at another hub
	challenge := parsed.Response.CollectedClientData.Challenge
	var challenged ceremony
	isPending, err := s.flows.Take(ctx, flows.Key{Kind: assertions, Secret: challenge}, &challenged)
	switch {
	case err != nil:
		return verified, err
	case !isPending, !s.Passkeys.isKnown(challenged.At):
		return verified, assertionError("has been used or is older than two minutes")
	case caller.Agent || !caller.IsAuthenticated() || caller.Name != challenged.Person:
		return verified, assertionError("is another person's assertion")
	case base64.RawURLEncoding.EncodeToString(sign.PasskeyChallenge(sha256.Sum256(text), challenged.Nonce, caller.Name)) != challenge:
		return verified, assertionError("is for another answer, or the request has changed since")
	}
	party, err := challenged.At.webAuthn()
	if err != nil {
		return verified, err
	}
	user := s.passkeyUserFor(caller.Name, challenged.At)
	credential, err := party.ValidateLogin(user, challenged.Session, parsed)
	if err != nil {
		s.Log.Warn("passkey assertion rejected", "person", caller.Name, "err", err)
		return verified, assertionError("is not a signature by one of your passkeys with user verification")
	}
	k := user.passkeys[slices.IndexFunc(user.passkeys, func(k store.Passkey) bool { return string(k.Credential) == string(credential.ID) })]
	if credential.Authenticator.CloneWarning {
		s.appendLedger(ctx, ledgerRecord("passkey.refused", caller, map[string]any{"passkey": k.ID, "name": k.Name, "because": "its signature counter went back: it may have been cloned"}))
		return verified, assertionError("has a lower counter than before: this passkey may have been cloned. Remove it and add a new one")
	}
	k.SignCount, k.Flags, k.LastUsedAt = credential.Authenticator.SignCount, byte(credential.Flags.ProtocolValue()), s.Clock()
	raw := &parsed.Raw.AssertionResponse
	verified = sign.PasskeyProof{
		Person: caller.Name, Signed: string(text), CredentialID: base64.RawURLEncoding.EncodeToString(k.Credential), Nonce: base64.RawURLEncoding.EncodeToString(challenged.Nonce),
		AuthenticatorData: base64.RawURLEncoding.EncodeToString(raw.AuthenticatorData),
		ClientDataJSON:    base64.RawURLEncoding.EncodeToString(raw.ClientDataJSON),
		Signature:         base64.RawURLEncoding.EncodeToString(raw.Signature),
	}
	if key, _ := pem.Decode([]byte(webauthncose.DisplayPublicKey(k.PublicKey))); key != nil {
		verified.PublicKey = base64.StdEncoding.EncodeToString(key.Bytes)
	}
	return verified, s.applyChange(ctx, &store.PeopleChange{People: store.People{Passkeys: []store.Passkey{k}}})
}

// textOfAction returns the text that a passkey signs to confirm a change of credentials.
func textOfAction(a schema.CredentialAction) ([]byte, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encode credential action: %w", err)
	}
	return append([]byte("hookback credential action 1\n"), text...), nil
}

// ChallengeAction starts a passkey assertion for exactly one change of credentials.
func (s *Service) ChallengeAction(ctx context.Context, caller Identity, a schema.CredentialAction) (schema.PasskeyOptions, error) {
	text, err := textOfAction(a)
	if err != nil {
		return schema.PasskeyOptions{}, err
	}
	return s.Challenge(ctx, caller, text)
}

// confirm returns an error unless proof is the caller's passkey assertion for the action. None is
// needed if the hub uses no passkeys or the caller has none, at any address. The caller must not hold
// changeMu.
func (s *Service) confirm(ctx context.Context, caller Identity, a schema.CredentialAction, proof json.RawMessage) error {
	_, err := s.tryConfirm(ctx, caller, a, proof)
	return err
}

// tryConfirm is confirm, and reports whether a passkey confirmed the action.
func (s *Service) tryConfirm(
	ctx context.Context, caller Identity, a schema.CredentialAction, proof json.RawMessage,
) (confirmed bool, err error) {
	s.refresh() // a passkey that was added at another hub is needed here, too
	at, ok := s.relyingParty(caller)
	if !ok || len(s.current.Load().passkeysOf(caller.Name)) == 0 {
		return false, nil
	}
	if len(s.current.Load().passkeysAt(at, caller.Name)) == 0 {
		return false, &schema.HintError{Err: schema.ErrProofRequired, Hint: "Nothing was changed. " + s.elsewhere(caller.Name)}
	}
	if len(proof) == 0 {
		return false, &schema.HintError{Err: schema.ErrProofRequired, Hint: "Nothing was changed. Do this in the dashboard, which asks for your passkey."}
	}
	text, err := textOfAction(a)
	if err != nil {
		return false, err
	}
	_, err = s.VerifyAssertion(ctx, caller, proof, text)
	var field *schema.FieldError
	if errors.As(err, &field) {
		return false, &schema.HintError{Err: field, Hint: "Nothing was changed. Try again in the dashboard and confirm with your passkey."}
	}
	return err == nil, err
}

// ConfirmChat returns an error unless the caller may link a chat account with their person. The
// account answers without their browser, so it takes a passkey as a sign-in link does.
func (s *Service) ConfirmChat(ctx context.Context, caller Identity, proof json.RawMessage) error {
	if caller.Via != "session" || caller.Paired {
		return errNoFullSession
	}
	return s.confirm(ctx, caller, schema.CredentialAction{Do: schema.ActionChat, Target: caller.Name}, proof)
}

// confirmPromotion is confirm for the role admin, which takes a passkey on every hub that uses
// passkeys: an admin decides who may answer.
func (s *Service) confirmPromotion(ctx context.Context, caller Identity, person string, proof json.RawMessage) error {
	if s.requiresPasskeys() && len(s.current.Load().passkeysOf(caller.Name)) == 0 {
		return &schema.HintError{Err: schema.ErrProofRequired, Hint: "Nothing was changed. Add a passkey under Team, People, first."}
	}
	return s.confirm(ctx, caller, schema.CredentialAction{Do: schema.ActionPromote, Target: person}, proof)
}
