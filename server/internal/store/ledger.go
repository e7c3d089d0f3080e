package store

import (
	"context"
	"encoding/json"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/identity"
)

// Ledger is the hash-chained audit log and the identity of the hub, which signs it.
type Ledger interface {
	// HubID identifies this database. A different ID means a different history.
	HubID() string

	// Epoch identifies this opening of the database, and with a sequence number a position in the
	// log. The copies of a database have the same HubID, and then different epochs.
	Epoch() string

	// HasPosition reports whether seq, which a reader got in the epoch, is in this log: the epoch
	// is the current one, or seq was assigned before it ended. It need not be assigned yet.
	HasPosition(epoch string, seq int64) bool

	// AppendLedger appends a record to the audit log for an action that changes no question.
	// A record about a change is written with it: see Change.Ledger.
	AppendLedger(ctx context.Context, record LedgerRecord) error

	// Ledger returns entries of the audit log as JSON, oldest first. They are the exact
	// bytes that were hashed.
	Ledger(ctx context.Context, p LedgerPage) (entries []json.RawMessage, _ error)

	// LedgerHead returns the newest signed head of the ledger, a schema.Envelope as JSON. It fails with
	// schema.ErrNotFound if there is none.
	LedgerHead(ctx context.Context) (envelope []byte, err error)

	// SignLedgerHead signs the last entry of the ledger, unless the newest head is of that entry.
	SignLedgerHead(ctx context.Context) error

	// Identity returns the hub's key.
	Identity() *identity.Key

	// KeyRotations returns how the newest keys of the hub replaced each other, oldest first; see
	// sign.HubKey.
	KeyRotations(ctx context.Context) (rotations []schema.Envelope, _ error)
}

// LedgerRecord is one action for the audit log.
type LedgerRecord struct {
	Action     string         // such as question.voted
	Actor      string         // a person, an agent's token, a rule, or the hub
	QuestionID schema.EventID // 0: none
	// Data holds further details and is encoded as JSON. The audit log outlives the
	// objects it describes: it must not contain payloads or secrets.
	Data any
}

// LedgerPage selects entries of the audit log. Zero values select everything.
type LedgerPage struct {
	After, Before int64 // entry numbers, both exclusive
	QuestionID    schema.EventID
	Limit         int
	Oldest        bool // return the oldest Limit entries rather than the newest
}

// LedgerState describes a ledger without a defect.
type LedgerState struct {
	Entries int64  // number of entries
	Signed  int64  // number of the newest entry with a signed head; 0: none
	KeyID   string // of the key that signed the heads; empty: the database has none yet
	HasKey  bool   // the key file is next to the database, and the heads are signed by its key
}
