package schema

import "encoding/json"

// Passkey is a credential of a person's own device, which signs for exactly one answer
// after it has seen that it is them.
type Passkey struct {
	ID         string `json:"id"`
	Name       string `json:"name"` // that the person gave it
	CreatedAt  Millis `json:"createdAt"`
	LastUsedAt Millis `json:"lastUsedAt,omitempty"`
}

// PasskeyDraft is the body of POST /api/passkeys: what the browser made of the options
// of POST /api/passkeys/new.
type PasskeyDraft struct {
	Name       string          `json:"name"`
	Credential json.RawMessage `json:"credential" jsonschema:"type=object"`
}

// PasskeyOptions are for navigator.credentials.create or get, in the JSON of WebAuthn.
type PasskeyOptions struct {
	PublicKey json.RawMessage `json:"publicKey" jsonschema:"type=object"`
}

// ChallengeRequest is the body of POST /api/passkeys/challenge: the answer that is about to
// be given, exactly as it will be, but for its proof. Another one needs another challenge.
type ChallengeRequest struct {
	ID       EventID  `json:"id"`
	Response Response `json:"response"`
}

// UnmarshalJSON reads exactly the members it knows.
func (p *ChallengeRequest) UnmarshalJSON(b []byte) error { return decodeObject(b, p, false) }

// The paths of passkeys.
const (
	PathPasskeys         = "/api/passkeys"
	PathPasskey          = "/api/passkeys/:id"       //nolint:gosec // a path
	PathNewPasskey       = "/api/passkeys/new"       //nolint:gosec // a path
	PathPasskeyChallenge = "/api/passkeys/challenge" //nolint:gosec // a path
)

var passkeyRoutes = []Route{
	{"GET", PathPasskeys, "The passkeys of whoever is signed in", nil, nil, []Passkey{}},
	{"POST", PathNewPasskey, "Begin to register a passkey: options for navigator.credentials.create", nil, nil, PasskeyOptions{}},
	{"POST", PathPasskeys, "Register the passkey that the browser made", nil, PasskeyDraft{}, Passkey{}},
	{"DELETE", PathPasskey, "Remove the passkey :id of one's own", nil, nil, []Passkey{}},
	{"POST", PathPasskeyChallenge, "Begin to prove an answer: options for navigator.credentials.get, whose assertion is the proof of exactly this answer, once, within two minutes", nil, ChallengeRequest{}, PasskeyOptions{}},
}
