package store

import (
	"context"
	"time"
)

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
