// Package shares manages share links: credentials that show exactly one session, read-only, to people who are
// not signed in. A link never outlives the account, the role or the session behind it.
package shares

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	// secretPrefix starts every secret, so that scanners for leaked secrets recognize it.
	secretPrefix = "hubsh_"
	idChars      = 16
	maxLinks     = 1000
	// openInterval is the time in which several requests count as one opening of a link.
	openInterval = time.Minute
)

// lifetimes are the accepted values of control.ShareDraft.Hours.
var lifetimes = map[int]time.Duration{0: 24 * time.Hour, 1: time.Hour, 24: 24 * time.Hour, 168: 168 * time.Hour}

// Config holds the dependencies of a Service. Without a Clock it uses time.Now; the others are required.
type Config struct {
	Store    store.Shares
	Sessions interface {
		// Session returns one session, or schema.ErrNotFound.
		Session(ctx context.Context, key store.SessionKey) (history.SessionDetail, error)
	}
	People *auth.Service
	Clock  func() time.Time
}

// Service creates, opens and ends share links. Its methods are safe for concurrent use.
type Service struct{ Config }

// New returns a service.
func New(cfg Config) *Service {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Service{cfg}
}

// errEnded reports a secret that opens nothing. It gives no reason, so that guesses reveal nothing.
var errEnded = &schema.HintError{Err: schema.ErrSignIn, Hint: "This link has ended. Ask the person who shared it for a new one."}

// Create creates a share link and returns it with its secret, this one time. A credential must not
// create another one, so it takes an operator in a browser with a full sign-in.
func (s *Service) Create(ctx context.Context, d control.ShareDraft, caller auth.Identity) (link control.Share, secret string, err error) {
	if err := s.checkAuthor(caller); err != nil {
		return link, "", err
	}
	life, ok := lifetimes[d.Hours]
	if !ok {
		return link, "", &schema.FieldError{Field: "hours", Detail: "must be 1, 24 or 168"}
	}
	key := store.SessionKey{App: d.SourceApp, Session: d.SessionID}
	if _, err := s.Sessions.Session(ctx, key); err != nil { // also brings the sessions up to date
		return link, "", err
	}
	list, err := s.active(ctx)
	if err == nil && len(list) >= maxLinks {
		err = &schema.FieldError{Detail: "would make more than 1000 share links; revoke old ones"}
	}
	if err != nil {
		return link, "", err
	}
	now := s.Clock()
	share := store.Share{
		ID: rand.Text()[:idChars], Session: key, Person: caller.Name, Transcript: d.Transcript, CreatedAt: now, ExpiresAt: now.Add(life),
	}
	secret = secretPrefix + share.ID + "_" + rand.Text()
	hash := sha256.Sum256([]byte(secret))
	share.Hash = hash[:]
	if err := s.Store.CreateShare(ctx, share, record("share.made", caller.Name, &share)); err != nil {
		return link, "", err
	}
	return public(&share), secret, nil
}

// checkAuthor checks that the caller may create a link.
func (s *Service) checkAuthor(caller auth.Identity) error {
	if err := s.People.Check(schema.AccessOwn, caller); err != nil {
		return err
	}
	if err := s.People.Check(schema.AccessKeep, caller); err != nil {
		return err
	}
	if caller.Paired {
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "A paired device creates no links. Do this in a browser with a full sign-in."}
	}
	return nil
}

// record returns the record of the audit log for an action on a link.
func record(action, actor string, share *store.Share) store.LedgerRecord {
	return store.LedgerRecord{Action: action, Actor: actor, Data: map[string]any{
		"share": share.ID, "app": share.Session.App, "session": share.Session.Session, "person": share.Person,
		"transcript": share.Transcript, "expiresAt": share.ExpiresAt.UnixMilli(),
	}}
}

func public(share *store.Share) control.Share {
	link := control.Share{
		ID: share.ID, SourceApp: share.Session.App, SessionID: share.Session.Session, Person: share.Person, Transcript: share.Transcript,
		CreatedAt: schema.Millis(share.CreatedAt.UnixMilli()), ExpiresAt: schema.Millis(share.ExpiresAt.UnixMilli()), Opens: share.Opens,
	}
	if !share.OpenedAt.IsZero() {
		link.LastOpenedAt = schema.Millis(share.OpenedAt.UnixMilli())
	}
	return link
}

// List returns the links of a session that have not ended, or all for the zero key, the newest first.
func (s *Service) List(ctx context.Context, key store.SessionKey, caller auth.Identity) ([]control.Share, error) {
	if err := s.People.Check(schema.AccessOwn, caller); err != nil {
		return nil, err
	}
	list, err := s.active(ctx)
	links := []control.Share{}
	for i := range list {
		if key == (store.SessionKey{}) || key == list[i].Session {
			links = append(links, public(&list[i]))
		}
	}
	return links, err
}

// active returns the links that open.
func (s *Service) active(ctx context.Context) ([]store.Share, error) {
	list, err := s.Store.Shares(ctx)
	var active []store.Share
	for i := range list {
		if s.isActive(&list[i]) {
			active = append(active, list[i])
		}
	}
	return active, err
}

// isActive reports whether a link opens: before its expiry, and as long as the account that created it
// exists, was not reset, and is an operator's.
func (s *Service) isActive(share *store.Share) bool {
	author, known := s.People.IdentityOf(share.Person, "share")
	since, _ := s.People.CreatedAt(share.Person)
	return known && author.HasRole(schema.Operator) && since.UnixMilli() <= share.CreatedAt.UnixMilli() && s.Clock().Before(share.ExpiresAt)
}

// Revoke ends a link of the caller, or of anyone if the caller is an admin.
func (s *Service) Revoke(ctx context.Context, id string, caller auth.Identity) error {
	if err := s.People.Check(schema.AccessOwn, caller); err != nil {
		return err
	}
	share, err := s.Store.Share(ctx, id)
	if err != nil {
		return err
	}
	if share.Person != caller.Name && !caller.HasRole(schema.Admin) {
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Only " + share.Person + " and admins can revoke this link."}
	}
	return s.Store.RemoveShare(ctx, id, record("share.revoked", caller.Name, &share))
}

// Open returns the link of a secret. A wrong secret counts as a failed sign-in of the network that
// it came from.
func (s *Service) Open(ctx context.Context, secret string, from netip.Addr) (store.Share, error) {
	share, err := s.find(ctx, secret)
	if err != nil {
		return share, err
	}
	if share.ID == "" {
		return share, s.People.RefuseAttempt(from, errEnded)
	}
	if !s.isActive(&share) {
		return store.Share{}, errEnded
	}
	if now := s.Clock(); now.Sub(share.OpenedAt).Abs() >= openInterval {
		err = s.Store.RecordShareOpened(ctx, share.ID, now, record("share.opened", "share link", &share))
	}
	return share, err
}

// find returns the link with that secret, or the zero Share. It compares a hash in any case, so that
// the time of a response does not reveal which ids exist.
func (s *Service) find(ctx context.Context, secret string) (store.Share, error) {
	id, _, _ := strings.Cut(strings.TrimPrefix(secret, secretPrefix), "_")
	if len(id) != idChars {
		return store.Share{}, nil
	}
	share, err := s.Store.Share(ctx, id)
	unknown := errors.Is(err, schema.ErrNotFound)
	if err != nil && !unknown {
		return store.Share{}, err
	}
	hash, stored := sha256.Sum256([]byte(secret)), [sha256.Size]byte{}
	copy(stored[:], share.Hash)
	if subtle.ConstantTimeCompare(hash[:], stored[:]) != 1 || unknown {
		return store.Share{}, nil
	}
	return share, nil
}
