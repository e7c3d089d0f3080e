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
