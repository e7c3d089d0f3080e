package store

import (
	"context"
	"time"

	"github.com/hookback/hookback/schema"
)

// Accounts are the people of the hub and their credentials.
type Accounts interface {
	// People reads all accounts and credentials. There are few, and callers cache them.
	People(ctx context.Context) (*People, error)

	// PeopleVersion returns the number of changes so far, of all hubs.
	PeopleVersion(ctx context.Context) (int64, error)

	// ChangePeople writes c and returns once it is committed. A change that locks the hub also
	// removes what callers without credentials left behind, which it returns. It works on a full
	// disk: people must be able to sign in and to revoke access. It fails with ErrPeopleChanged if
	// c has a version that is not the current one: another hub has changed the accounts.
	ChangePeople(ctx context.Context, c *PeopleChange) (removed AnonymousRemoval, err error)

	// RecordUse stores when sign-ins and tokens were last used. It makes no time earlier, restores
	// nothing that was revoked, and leaves the version.
	RecordUse(ctx context.Context, u *Uses) error
}

// Uses are times of last use by the ids of sign-ins and tokens.
type Uses struct{ SignIns, Tokens map[string]time.Time }

// LocalName is the name under which callers without credentials are stored.
const LocalName = "local user"

// AnonymousRemoval lists the removed objects that others have in memory.
type AnonymousRemoval struct {
	Channels  []int64          // removed channels
	Questions []schema.EventID // questions with a notification that can no longer be sent
}

// Person is an account.
type Person struct {
	Name                  string
	Role                  schema.Role
	Owner                 bool
	Email                 string
	Handles               string    // names in CODEOWNERS files, each followed by a space except the last
	Subject               string    // OpenID Connect issuer and subject; empty: not linked
	CreatedAt, LastSeenAt time.Time // LastSeenAt is zero if never seen

	SignedIn   bool      // has signed in since the account was created or reset
	ResetAt    time.Time // last reset by an admin; zero: never
	ResetBy    string
	PromotedAt time.Time // when another admin made this person an admin; zero: never
	PromotedBy string
}

// SignIn is a signed-in browser. Cookie and Key are hashes.
type SignIn struct {
	ID, Person, Method, UserAgent string
	Cookie, Key                   []byte
	Confirmed                     bool // of the code
	CreatedAt, LastSeenAt         time.Time
}

// Token is a credential for programs. Only its hash is stored.
type Token struct {
	ID, Name, Prefix, Person         string
	Apps                             []string
	Hash                             []byte
	CreatedAt, LastUsedAt, ExpiresAt time.Time // zero: never
}

// Code is an unused sign-in link.
type Code struct {
	Hash                 []byte
	Person               string // empty: using the code makes its user the hub's owner
	Method               string // of the sign-in that it creates: link or oidc
	Confirmed            bool   // the person created it and confirmed that with a passkey
	CreatedAt, ExpiresAt time.Time
}

// Passkey is a WebAuthn credential of a person.
type Passkey struct {
	ID, Person, Name      string
	RPID                  string // relying party ID: the host name at which it works; empty: of an earlier version
	Credential, PublicKey []byte
	SignCount             uint32
	Flags                 byte
	Transports            []string
	CreatedAt, LastUsedAt time.Time // LastUsedAt is zero if never used
}

// People is the complete state of accounts and credentials.
type People struct {
	// Version grows with each change. In a PeopleChange it is the one that the change was computed
	// from; 0: any.
	Version int64
	Persons []Person
	SignIns []SignIn
	Tokens  []Token
	Codes   []Code
	Locked  bool

	Passkeys []Passkey
}

// PeopleChange is one atomic change of accounts and credentials. Listed records are
// inserted or replaced.
type PeopleChange struct {
	People         // Locked is used only with SetLocked
	SetLocked      bool
	RemovedPeople  []string // names to remove
	RemovedSignIns []string // IDs to remove
	RemovedTokens  []string // IDs to remove
	RemovedCodes   [][]byte // hashes to remove

	RemovedPasskeys []string       // IDs to remove
	LedgerRecords   []LedgerRecord // audit log records of the change
}

// Flow is the state between two steps of a sign-in or of another exchange. It works once. The steps may
// reach different hubs.
type Flow struct {
	ID        []byte // hash of a secret
	Kind      string // the flows of a kind have a common limit
	Data      []byte // encrypted by the caller, unless it is not secret
	ExpiresAt time.Time
}

// Flows are the pending flows.
type Flows interface {
	// PutFlow stores a flow, and replaces one with the same id. It removes the flows that have expired at
	// now, and the flows of its kind beyond limit that expire first. It works on a full disk: people must be
	// able to sign in.
	PutFlow(ctx context.Context, f *Flow, now time.Time, limit int) error

	// TakeFlow removes a flow and returns it. One of several callers gets it. It fails with
	// schema.ErrNotFound if there is none, or if it has expired at now.
	TakeFlow(ctx context.Context, id []byte, now time.Time) (Flow, error)
}

// Share is a link that shows one session, read-only. Only the hash of its secret is stored.
type Share struct {
	ID         string
	Session    SessionKey
	Person     string // its author
	Hash       []byte
	Transcript bool // the link also shows transcripts

	CreatedAt, ExpiresAt, OpenedAt time.Time // OpenedAt is zero if never opened
	Opens                          int64
}

// Shares are the share links of the hub. A link is removed with its session, with its author's account
// or its reset, and when its author loses the role operator.
type Shares interface {
	// Shares returns all share links, the newest first.
	Shares(ctx context.Context) ([]Share, error)

	// Share returns a share link. It fails with schema.ErrNotFound if there is none.
	Share(ctx context.Context, id string) (Share, error)

	// CreateShare stores a share link with a record of the audit log, and removes the links that expired
	// before it was created. It fails with schema.ErrNotFound if the hub has no such session, or if its author is not
	// an operator.
	CreateShare(ctx context.Context, s Share, record LedgerRecord) error

	// RemoveShare removes a share link with a record of the audit log. It fails with schema.ErrNotFound if
	// there is none.
	RemoveShare(ctx context.Context, id string, record LedgerRecord) error

	// RecordShareOpened counts an opening of a share link. The first one is recorded in the audit log.
	RecordShareOpened(ctx context.Context, id string, at time.Time, first LedgerRecord) error
}
