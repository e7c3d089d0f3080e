package schema

import (
	"encoding/json"

	"github.com/hookback/hookback/schema/internal/object"
)

// Passkey is a WebAuthn credential on a person's device. It verifies the person and signs one exact answer.
type Passkey struct {
	ID         string `json:"id"`
	Name       string `json:"name"` // chosen by the person
	At         string `json:"at"`   // host name at which it works
	CreatedAt  Millis `json:"createdAt"`
	LastUsedAt Millis `json:"lastUsedAt,omitempty"`
}

// PasskeyDraft is the body of POST /api/passkeys: the credential that the browser created with the
// options of POST /api/passkeys/new.
type PasskeyDraft struct {
	Name       string          `json:"name"`
	Credential json.RawMessage `json:"credential" jsonschema:"type=object"`
}

// PasskeyOptions are the options for navigator.credentials.create or get in WebAuthn JSON.
type PasskeyOptions struct {
	PublicKey json.RawMessage `json:"publicKey" jsonschema:"type=object"`
}

// ChallengeRequest is the body of POST /api/passkeys/challenge: the exact answer to be given,
// without its proof. A different answer requires a new challenge.
type ChallengeRequest struct {
	ID       EventID  `json:"id"`
	Response Response `json:"response"`
}

// CredentialAction is a change of credentials that the caller confirms with a passkey. It is the body of POST
// /api/passkeys/confirm; the assertion is the proof of the request that makes the change.
type CredentialAction struct {
	Do     string `json:"do" jsonschema:"enum=link,enum=reset,enum=promote,enum=pair,enum=add_passkey,enum=remove_passkey,enum=chat"`
	Target string `json:"target"` // the name of the person, or the id of the passkey to remove
}

// The actions that a passkey confirms.
const (
	ActionLink          = "link"           // the caller's sign-in link
	ActionReset         = "reset"          // a reset of another person
	ActionPromote       = "promote"        // the role admin for another person
	ActionPair          = "pair"           // a code that pairs a device with the caller's account
	ActionAddPasskey    = "add_passkey"    // a further passkey of the caller
	ActionRemovePasskey = "remove_passkey" // removal of an own passkey
	ActionChat          = "chat"           // a chat account with which the caller answers
)

// Confirmation is the body of a change of credentials. Proof is required if the caller has a
// passkey and the hub uses passkeys.
type Confirmation struct {
	Proof json.RawMessage `json:"proof,omitempty" jsonschema:"type=object"`
}

// UnmarshalJSON matches member names exactly.
func (p *ChallengeRequest) UnmarshalJSON(b []byte) error { return object.Decode(b, p, false) }

// The paths of passkeys.
const (
	PathPasskeys         = "/api/passkeys"
	PathPasskey          = "/api/passkeys/:id"       //nolint:gosec // a path
	PathNewPasskey       = "/api/passkeys/new"       //nolint:gosec // a path
	PathPasskeyChallenge = "/api/passkeys/challenge" //nolint:gosec // a path
	PathPasskeyConfirm   = "/api/passkeys/confirm"   //nolint:gosec // a path
)
