package schema

// Role is what a person may do. Each may all that the one before it may.
type Role string

// The roles, from the least.
const (
	Viewer   Role = "viewer"   // sees everything
	Operator Role = "operator" // answers
	Admin    Role = "admin"    // people, tokens, rules, channels
)

// Me is who the caller is to the hub: GET /api/me.
type Me struct {
	Name     string `json:"name"` // "local user" for whoever has shown nothing
	Role     Role   `json:"role,omitempty"`
	Verified bool   `json:"verified"`           // the hub knows the name by something only they have
	Owner    bool   `json:"owner,omitempty"`    // who signed in first: the hub is theirs
	SignIn   string `json:"signIn,omitempty"`   // the id of this browser's sign-in
	Passkeys int    `json:"passkeys,omitempty"` // how many they registered

	// Locked: the hub takes answers of signed-in operators only.
	Locked    bool `json:"locked"`
	CanAnswer bool `json:"canAnswer"`
	CanAdmin  bool `json:"canAdmin"`
	// PasskeyFor is the risk from which an answer needs a passkey; absent: none does.
	PasskeyFor Risk `json:"passkeyFor,omitempty"`
	// PasskeyAt is the origin at which passkeys work: they belong to a name.
	PasskeyAt string `json:"passkeyAt,omitempty"`
	// Ways are how one can sign in here, beside a link: oidc.
	Ways []string `json:"ways,omitempty"`
}

// Person is somebody the hub knows by name.
type Person struct {
	Name       string `json:"name"`
	Role       Role   `json:"role"`
	Owner      bool   `json:"owner,omitempty"`
	Email      string `json:"email,omitempty"` // where notices by mail go
	CreatedAt  Millis `json:"createdAt"`
	LastSeenAt Millis `json:"lastSeenAt,omitempty"`
	Passkeys   int    `json:"passkeys,omitempty"`
	// SignInURL signs this person in once, within 15 minutes: shown once, to the admin
	// who asked for it.
	SignInURL string `json:"signInUrl,omitempty"`
}

// SignIn is a browser that somebody signed in with.
type SignIn struct {
	ID         string `json:"id"`
	Person     string `json:"person"`
	UserAgent  string `json:"userAgent,omitempty"`
	Way        string `json:"way" jsonschema:"enum=link,enum=oidc,enum=token"`
	CreatedAt  Millis `json:"createdAt"`
	LastSeenAt Millis `json:"lastSeenAt"`
	ExpiresAt  Millis `json:"expiresAt"`
	Current    bool   `json:"current,omitempty"` // the caller's own
}

// Token is a credential for programs. The hub keeps only its hash.
type Token struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Prefix string `json:"prefix"` // how it begins, to tell it apart
	// Person whose token it is: it may what they may. Without one it is an agent's,
	// which can post events, read, and take back its own questions, never answer.
	Person string `json:"person,omitempty"`
	// Apps are the source_app names that an agent's token may post as, * for any
	// characters; none: every name.
	Apps       []string `json:"apps,omitempty"`
	CreatedAt  Millis   `json:"createdAt"`
	LastUsedAt Millis   `json:"lastUsedAt,omitempty"`
	ExpiresAt  Millis   `json:"expiresAt,omitempty"`
	// Secret is the token itself, shown once: hubop_… a person's, hubin_… an agent's.
	Secret string `json:"secret,omitempty"`
}

// SignInRequest is the body of POST /api/sign-in: the code of a sign-in link, whose fragment is
// #sign-in=CODE.
type SignInRequest struct {
	Code string `json:"code"`
	// Name is what the first one to sign in calls themselves: the hub becomes theirs.
	// Without one they get 400 for the member name, and the code still counts.
	Name string `json:"name,omitempty"`
}

// SignInResult is a new sign-in. Its cookie came with the response; Key goes with every
// request in the header Hookback-Key. The page keeps it where only its own origin
// reads it: cookies don't tell the ports of a host apart.
type SignInResult struct {
	Key string `json:"key"`
	Me  Me     `json:"me"`
}

// LockState is the body of POST /api/lock.
type LockState struct {
	Locked bool `json:"locked"`
}

// PersonDraft is the body of POST /api/people and POST /api/people/:name: what is left
// out stays as it is.
type PersonDraft struct {
	Name  string  `json:"name,omitempty"` // of a new person; nobody is renamed
	Role  Role    `json:"role,omitempty"` // operator for a new person unless told
	Email *string `json:"email,omitempty"`
}

// TokenDraft is the body of POST /api/tokens.
type TokenDraft struct {
	Name      string   `json:"name"`
	Person    string   `json:"person,omitempty"` // whose it is; empty: an agent's
	Apps      []string `json:"apps,omitempty"`
	ExpiresAt Millis   `json:"expiresAt,omitempty"`
}

// KeyHeader carries the key of a signed-in page.
const KeyHeader = "Hookback-Key"

// StreamSignedOut is the close code of a stream whose sign-in or token was revoked or
// has expired.
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
	PathSignIns    = "/api/sign-ins"
	PathSignInByID = "/api/sign-ins/:id"
	PathTokens     = "/api/tokens"
	PathToken      = "/api/tokens/:id" //nolint:gosec // a path
	// PathOIDC sends a browser to the OpenID provider, and PathOIDCCallback is where that
	// sends it back to.
	PathOIDC         = "/sign-in/oidc"
	PathOIDCCallback = "/sign-in/oidc/back"
)

var peopleRoutes = []Route{
	{"GET", PathMe, "Who the caller is to the hub, and what they may do", nil, nil, Me{}},
	{"POST", PathSignIn, "Sign in with the code of a one-time link; sets the cookie of a new sign-in. The first one to do so owns the hub", nil, SignInRequest{}, SignInResult{}},
	{"POST", PathSignOut, "End this browser's sign-in", nil, nil, Me{}},
	{"GET", PathOIDC, "Sign in with the OpenID provider: sends the browser there", nil, nil, nil},
	{"GET", PathOIDCCallback, "Where the OpenID provider sends a browser back to, which goes on to the dashboard with the code of a one-time link, or with why there is none", []Param{
		{"state", "as it was sent along"},
		{"code", "the provider's, to be exchanged"},
		{"error", "the provider's, instead of a code"},
	}, nil, nil},
	{"POST", PathLock, "Take answers of signed-in operators only, or of anyone on this machine again", nil, LockState{}, Me{}},
	{"GET", PathPeople, "The people of this hub; their addresses are for admins", nil, nil, []Person{}},
	{"POST", PathPeople, "Make a person known; the answer holds a link that signs them in once", nil, PersonDraft{}, Person{}},
	{"POST", PathPerson, "Change the role or the address of a person, :name", nil, PersonDraft{}, Person{}},
	{"POST", PathPersonLink, "Make a link that signs the person :name in once, within 15 minutes; earlier ones are void", nil, nil, Person{}},
	{"DELETE", PathPerson, "Forget the person :name, and end their sign-ins and tokens", nil, nil, []Person{}},
	{"GET", PathSignIns, "The browsers that are signed in: one's own, and everybody's for an admin", nil, nil, []SignIn{}},
	{"DELETE", PathSignInByID, "End the sign-in :id; its open streams are closed within a second", nil, nil, []SignIn{}},
	{"GET", PathTokens, "Tokens: one's own, and all for an admin", nil, nil, []Token{}},
	{"POST", PathTokens, "Make a token, a person's own or an agent's; it is shown this once", nil, TokenDraft{}, Token{}},
	{"DELETE", PathToken, "Revoke the token :id; its open streams are closed within a second", nil, nil, []Token{}},
}
