package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
)

// digestOfAction returns the digest that a passkey signs to confirm a change of credentials.
func digestOfAction(a schema.CredentialAction) (AnswerDigest, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return AnswerDigest{}, fmt.Errorf("encode credential action: %w", err)
	}
	return sha256.Sum256(append([]byte("hookback credential action 1\n"), text...)), nil
}

// ChallengeAction starts a passkey assertion for exactly one change of credentials.
func (s *Service) ChallengeAction(ctx context.Context, caller Identity, a schema.CredentialAction) (schema.PasskeyOptions, error) {
	digest, err := digestOfAction(a)
	if err != nil {
		return schema.PasskeyOptions{}, err
	}
	return s.Challenge(ctx, caller, digest)
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
	digest, err := digestOfAction(a)
	if err != nil {
		return false, err
	}
	_, err = s.VerifyAssertion(ctx, caller, proof, digest)
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
