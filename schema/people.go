package schema

import "encoding/json"

// Role is a person's role. Each role includes the permissions of the previous one.
type Role string

// The roles, in ascending order.
const (
	Viewer   Role = "viewer"   // can read everything
	Operator Role = "operator" // can answer
	Admin    Role = "admin"    // can manage people, tokens, rules and channels
)

// PasskeyThreshold states which approvals require a passkey.
type PasskeyThreshold string

// The thresholds, from the strictest.
const (
	PasskeyForUnknown  PasskeyThreshold = "unknown"  // every approval of a call that is not known to be harmless
	PasskeyForHigh     PasskeyThreshold = "high"     // high or critical risk
	PasskeyForCritical PasskeyThreshold = "critical" // critical risk
)

// AtLeastHigh returns the threshold, or that of high risk if it is less strict.
func (p PasskeyThreshold) AtLeastHigh() PasskeyThreshold {
	if p == PasskeyForUnknown {
		return p
	}
	return PasskeyForHigh
}

// Me is the identity and permissions of the caller, from GET /api/me.
type Me struct {
	Name     string `json:"name"` // "local user" for an unauthenticated caller
	Role     Role   `json:"role,omitempty"`
	Verified bool   `json:"verified"`           // the name is verified by a credential
	Owner    bool   `json:"owner,omitempty"`    // the first person to sign in, who owns the hub
	SignIn   string `json:"signIn,omitempty"`   // id of this browser's sign-in
	Passkeys int    `json:"passkeys,omitempty"` // number of registered passkeys

	Paired bool `json:"paired,omitempty"` // a paired device, which has at most the role operator

	// NeedsYou is the number of pending requests that the caller may answer and whose agent still
	// listens, equal calls counted once. The response to a sign-in has none.
	NeedsYou int64 `json:"needsYou,omitempty"`

	// Locked is set if the hub accepts answers only from signed-in operators.
	Locked    bool `json:"locked"`
	CanAnswer bool `json:"canAnswer"`
	CanAdmin  bool `json:"canAdmin"`
	// PasskeyFor states which approvals require a passkey; absent if none does.
	PasskeyFor PasskeyThreshold `json:"passkeyFor,omitempty"`
	// PasskeyAt is the origin at which passkeys work, because they are bound to a host name.
	PasskeyAt string `json:"passkeyAt,omitempty"`
	// Owned is set if the hub has an owner.
	Owned bool `json:"owned,omitempty"`
	// Changes are resets and promotions of people in the last 24 hours.
	Changes []AccountChange `json:"changes,omitempty"`
	// Ways lists the sign-in methods in addition to a link: oidc.
	Ways []string `json:"ways,omitempty"`
}

// AccountChange is a change of an account that everyone should notice.
type AccountChange struct {
	Change string `json:"change" jsonschema:"enum=reset,enum=promoted"`
	Person string `json:"person"`
	By     string `json:"by"` // the admin who made it
	At     Millis `json:"at"`
}

// Person is a person with an account.
type Person struct {
	Name  string `json:"name"`
	Role  Role   `json:"role"`
	Owner bool   `json:"owner,omitempty"`
	Email string `json:"email,omitempty"` // address for notifications by mail
	// Handles are the names of the person in CODEOWNERS files: @user, @org/team, mail addresses. An admin sets them; the
	// account name counts too. Email does not: people change it themselves.
	Handles    []string `json:"handles,omitempty"`
	CreatedAt  Millis   `json:"createdAt"`
	LastSeenAt Millis   `json:"lastSeenAt,omitempty"`
	Passkeys   int      `json:"passkeys,omitempty"`
	SignedIn   bool     `json:"signedIn,omitempty"` // has signed in since the account was created or reset
	// Chats lists the kinds of chat accounts that the person linked, such as telegram. Only admins
	// and the person see them.
	Chats []string `json:"chats,omitempty"`
	// SignInURL signs this person in once, within 15 minutes. It is shown once, to the admin who
	// requested it. A token gets none.
	SignInURL string `json:"signInUrl,omitempty"`
}

// SignIn is a signed-in browser.
type SignIn struct {
	ID         string `json:"id"`
	Person     string `json:"person"`
	UserAgent  string `json:"userAgent,omitempty"`
	Way        string `json:"way" jsonschema:"enum=link,enum=oidc,enum=token,enum=pair"`
	CreatedAt  Millis `json:"createdAt"`
	LastSeenAt Millis `json:"lastSeenAt"`
	ExpiresAt  Millis `json:"expiresAt"`
	Current    bool   `json:"current,omitempty"` // the caller's own
}

// Token is a credential for programs. The hub stores only its hash.
type Token struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Prefix string `json:"prefix"` // the first characters, for display
	// Person is the owner of a personal token, which has that person's permissions. An agent's token has no owner: it
	// can post events, read, and withdraw its own questions, but never answer.
	Person string `json:"person,omitempty"`
	// Apps are the source_app names that an agent's token may post as, with * as a wildcard; empty for every name.
	Apps       []string `json:"apps,omitempty"`
	CreatedAt  Millis   `json:"createdAt"`
	LastUsedAt Millis   `json:"lastUsedAt,omitempty"`
	ExpiresAt  Millis   `json:"expiresAt,omitempty"`
	// Secret is the token itself, shown once: hubop_… for a person, hubin_… for an agent.
	Secret string `json:"secret,omitempty"`
}

// SignInRequest is the body of POST /api/sign-in: the code of a sign-in link, whose fragment is #sign-in=CODE.
type SignInRequest struct {
	Code string `json:"code"`
	Pair bool   `json:"pair,omitempty"` // the code is that of a pairing, whose fragment is #pair=CODE
	// Name is the name that the first person to sign in chooses as the owner of the hub. Without it
	// the hub returns 400 for the member name, and the code stays valid.
	Name string `json:"name,omitempty"`
}

// SignInResult is a new sign-in. The response sets its cookie. Every request must also send Key in the header
// Hookback-Key. The page stores the key per origin, because cookies are shared between the ports of a host.
type SignInResult struct {
	Key string `json:"key"`
	Me  Me     `json:"me"`
}

// LockState is the body of POST /api/lock.
type LockState struct {
	Locked bool `json:"locked"`
}

// PersonDraft is the body of POST /api/people and POST /api/people/:name. Absent members are left unchanged.
type PersonDraft struct {
	Name  string  `json:"name,omitempty"` // name of a new person; it can't be changed
	Role  Role    `json:"role,omitempty"` // default for a new person: operator
	Email *string `json:"email,omitempty"`
	// Handles replaces Person.Handles, at most 20.
	Handles *[]string `json:"handles,omitempty"`
	// Proof confirms the role admin with the caller's passkey, if the hub uses passkeys.
	Proof json.RawMessage `json:"proof,omitempty" jsonschema:"type=object"`
}

// TokenDraft is the body of POST /api/tokens.
type TokenDraft struct {
	Name   string   `json:"name"`
	Person string   `json:"person,omitempty"` // the caller; empty for an agent's token
	Apps   []string `json:"apps,omitempty"`
	// ExpiresAt is at most one year ahead for the token of a person; default: in 90 days. An agent's token needs none.
	ExpiresAt Millis `json:"expiresAt,omitempty"`
}

// KeyHeader carries the key of a signed-in page.
const KeyHeader = "Hookback-Key"

// StreamSignedOut is the close code of a stream whose sign-in or token was revoked or has expired.
const StreamSignedOut = 4401

// The paths of people.
const (
	PathMe      = "/api/me"
	PathSignIn  = "/api/sign-in"
	PathSignOut = "/api/sign-out"
	PathLock    = "/api/lock"

	PathPeople     = "/api/people"
	PathPerson     = "/api/people/:name"
	PathPersonLink = "/api/people/:name/link"
	// PathPersonReset takes an account back to the state before its first sign-in.
	PathPersonReset = "/api/people/:name/reset"

	PathSignIns    = "/api/sign-ins"
	PathSignInByID = "/api/sign-ins/:id"
	PathTokens     = "/api/tokens"
	PathToken      = "/api/tokens/:id" //nolint:gosec // a path
	// PathOIDC redirects a browser to the OpenID provider. PathOIDCCallback is the redirect URI.
	PathOIDC         = "/sign-in/oidc"
	PathOIDCCallback = "/sign-in/oidc/back"
)
