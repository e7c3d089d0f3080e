package auth

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/store"
)

// Config configures a Service. Store is required.
type Config struct {
	Store interface {
		store.Accounts
		store.Flows
		store.Ledger
		WasFirst() bool // see store.Members
	}
	OIDC *OIDC // default: no sign-in with a provider
	// Passkeys configures which answers need a passkey; default: no passkeys.
	Passkeys *Passkeys
	// Feed gets a fact of kind feed.Accounts after each change of an account. Its note is an Announcement if
	// people must be notified, and a store.AnonymousRemoval after a lock of the hub. Default: no one follows.
	Feed  *feed.Feed
	Clock func() time.Time // default time.Now
	Log   *slog.Logger     // default: discard
}

// LockObserver ends what callers without credentials left behind in memory, before the change
// that locks the hub returns.
type LockObserver interface {
	AfterLock(ctx context.Context)
}

// Announcement is a change of an account that the named people are notified of.
type Announcement struct {
	To     []string
	Change schema.AccountChange
}

// Service authenticates and authorizes the callers of a hub and manages its accounts.
// Accounts and sessions are cached in memory, so a request costs no query. A nil Service has no accounts
// and is not locked. Its methods are safe for concurrent use.
type Service struct {
	Config
	changeMu      sync.Mutex                // serializes changes
	current       atomic.Pointer[directory] // replaced by each change
	lastUse       sync.Map                  // id of a session or token → *atomic.Int64, last use in Unix ms
	signInLimiter rateLimiter
	revocations   revocationHooks
	lockObserver  LockObserver // nil: none
	flows         flows.Flows
	isStale       atomic.Bool
	usedPairings  map[digest]bool // codes of paired devices; changeMu guards it
}

// Open loads the accounts of a hub.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Feed == nil {
		cfg.Feed = feed.New(0, 1, 1)
	}
	s := &Service{Config: cfg, flows: flows.Flows{Store: cfg.Store, Clock: cfg.Clock}}
	dir, err := s.readDirectory(ctx)
	if err != nil {
		return nil, err
	}
	if dir.Locked && cfg.Store.WasFirst() { // a version that did not do this may have locked it
		if _, err := cfg.Store.ChangePeople(ctx, &store.PeopleChange{SetLocked: true, People: store.People{Locked: true}}); err != nil {
			return nil, fmt.Errorf("remove what callers without credentials left behind: %w", err)
		}
		dir.Version++ // or an old one, with which the first change reads the accounts again
	}
	s.current.Store(dir)
	return s, nil
}

// ObserveLock sets the observer. Call it before the first change.
func (s *Service) ObserveLock(o LockObserver) {
	if s != nil {
		s.lockObserver = o
	}
}

// IsLocked reports whether the hub accepts answers of signed-in operators only.
func (s *Service) IsLocked() bool { return s != nil && s.current.Load().Locked }

// HasOwner reports whether the hub has an owner.
func (s *Service) HasOwner() bool {
	return s != nil && slices.ContainsFunc(s.current.Load().Persons, func(o store.Person) bool { return o.Owner })
}

// ResolveRecipients returns the names of the people that r addresses at this moment, or
// nil for anyone. Errors name the invalid member of humanInTheLoop.recipients.
func (s *Service) ResolveRecipients(r *schema.Recipients) ([]string, error) {
	if r == nil || r.Mode == "" || r.Mode == "anyone" {
		return nil, nil
	}
	if !s.HasOwner() {
		return nil, &schema.FieldError{
			Field:  "humanInTheLoop.recipients.mode",
			Detail: "must be anyone: this hub has no owner yet, so it cannot identify who answers. Open the sign-in link that it prints when it starts",
		}
	}
	if r.Mode == "selected_members" {
		return s.resolveMembers(r.Members)
	}
	var names []string
	for _, o := range s.current.Load().Persons {
		if o.Owner || r.Mode == "owner_admins" && o.Role == schema.Admin {
			names = append(names, o.Name)
		}
	}
	return names, nil
}

// PeopleOf returns the people that the owners in a CODEOWNERS file name: by their handles, or by the name of their
// account. Mail addresses that people set themselves name no one.
func (s *Service) PeopleOf(owners []string) (names []string) {
	if s == nil {
		return nil
	}
	for i := range s.current.Load().Persons {
		person := &s.current.Load().Persons[i]
		handles := append(strings.Fields(person.Handles), person.Name, "@"+person.Name)
		if slices.ContainsFunc(owners, func(owner string) bool {
			return slices.ContainsFunc(handles, func(handle string) bool { return strings.EqualFold(handle, owner) })
		}) {
			names = append(names, person.Name)
		}
	}
	return names
}

func (s *Service) resolveMembers(named []string) ([]string, error) {
	const field = "humanInTheLoop.recipients.members"
	var names []string
	for _, name := range named {
		person := s.current.Load().findPerson(name)
		switch {
		case person == nil:
			return nil, &schema.FieldError{Field: field, Detail: fmt.Sprintf("names %q, who has no account on this hub", name)}
		case person.Role == schema.Viewer:
			return nil, &schema.FieldError{Field: field, Detail: fmt.Sprintf("names %q, who is a viewer and cannot answer", name)}
		case !slices.Contains(names, person.Name):
			names = append(names, person.Name)
		}
	}
	if len(names) == 0 {
		return nil, &schema.FieldError{Field: field, Detail: "must name at least one person"}
	}
	return names, nil
}

// Accounts returns all accounts, sorted by name.
func (s *Service) Accounts(context.Context) []schema.Person {
	if s == nil {
		return []schema.Person{}
	}
	dir := s.current.Load()
	people := make([]schema.Person, len(dir.Persons))
	for i := range dir.Persons {
		people[i] = s.publicPerson(&dir.Persons[i])
	}
	return people
}

func (s *Service) publicPerson(person *store.Person) schema.Person {
	public := schema.Person{
		Name: person.Name, Role: person.Role, Owner: person.Owner, Email: person.Email, Handles: strings.Fields(person.Handles),
		CreatedAt: toMillis(person.CreatedAt), SignedIn: person.SignedIn,
	}
	seen := person.LastSeenAt
	dir := s.current.Load()
	public.Passkeys = len(dir.passkeysOf(person.Name))
	for i := range dir.SignIns {
		if dir.SignIns[i].Person == person.Name {
			seen = latest(seen, s.lastUsed(dir.SignIns[i].ID, dir.SignIns[i].LastSeenAt))
		}
	}
	for i := range dir.Tokens {
		if dir.Tokens[i].Person == person.Name {
			seen = latest(seen, s.lastUsed(dir.Tokens[i].ID, dir.Tokens[i].LastUsedAt))
		}
	}
	public.LastSeenAt = toMillis(seen)
	return public
}

func toMillis(t time.Time) schema.Millis {
	if t.IsZero() {
		return 0
	}
	return schema.Millis(t.UnixMilli())
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// isExpired reports whether t has passed. The zero time never expires.
func (s *Service) isExpired(t time.Time) bool { return !t.IsZero() && !s.Clock().Before(t) }

// A session ends after sessionIdleTimeout without use, and after sessionMaxAge in any
// case.
const (
	sessionIdleTimeout = 14 * 24 * time.Hour
	sessionMaxAge      = 90 * 24 * time.Hour
)

// sessionExpiry returns when a session ends if it is not used again.
func (s *Service) sessionExpiry(session *store.SignIn) time.Time {
	end, last := s.lastUsed(session.ID, session.LastSeenAt).Add(sessionIdleTimeout), session.CreatedAt.Add(sessionMaxAge)
	if last.Before(end) {
		return last
	}
	return end
}

// recordUse records in memory that a session or token was used now. saveLastUse stores it.
func (s *Service) recordUse(id string) {
	at, ok := s.lastUse.Load(id)
	if !ok {
		at, _ = s.lastUse.LoadOrStore(id, new(atomic.Int64))
	}
	at.(*atomic.Int64).Store(s.Clock().UnixMilli())
}

func (s *Service) lastUsed(id string, stored time.Time) time.Time {
	if at, ok := s.lastUse.Load(id); ok {
		return latest(stored, time.UnixMilli(at.(*atomic.Int64).Load()))
	}
	return stored
}

// HasProvider reports whether people can sign in with an OpenID provider.
func (s *Service) HasProvider() bool { return s != nil && s.OIDC != nil }
