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

// directory is an immutable snapshot of all accounts, sessions, tokens and codes.
type directory struct {
	store.People
	tokens  map[digest]*store.Token
	signIns map[digest]*store.SignIn // by digest of the cookie
	codes   map[digest]*store.Code
}

// Open loads the accounts of a hub.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
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

func newDirectory(stored *store.People) *directory {
	dir := &directory{People: *stored, tokens: map[digest]*store.Token{}, signIns: map[digest]*store.SignIn{}, codes: map[digest]*store.Code{}}
	for i := range dir.Tokens {
		dir.tokens[digest(dir.Tokens[i].Hash)] = &dir.Tokens[i]
	}
	for i := range dir.SignIns {
		dir.signIns[digest(dir.SignIns[i].Cookie)] = &dir.SignIns[i]
	}
	for i := range dir.Codes {
		dir.codes[digest(dir.Codes[i].Hash)] = &dir.Codes[i]
	}
	return dir
}

// applyChange stores a change and publishes a new directory. The caller holds changeMu and
// has computed the change from the current directory.
func (s *Service) applyChange(ctx context.Context, c *store.PeopleChange) error {
	removed, err := s.storeChange(ctx, c)
	if err != nil {
		return err
	}
	next := s.current.Load().People
	next.Version++
	if c.SetLocked {
		next.Locked = c.Locked
	}
	next.Persons = mergeByKey(next.Persons, c.Persons, c.RemovedPeople, func(o store.Person) string { return o.Name })
	next.SignIns = mergeByKey(next.SignIns, c.SignIns, c.RemovedSignIns, func(o store.SignIn) string { return o.ID })
	next.Tokens = mergeByKey(next.Tokens, c.Tokens, c.RemovedTokens, func(o store.Token) string { return o.ID })
	codes := make([]string, len(c.RemovedCodes))
	for i, hash := range c.RemovedCodes {
		codes[i] = string(hash)
	}
	next.Passkeys = mergeByKey(next.Passkeys, c.Passkeys, c.RemovedPasskeys, func(o store.Passkey) string { return o.ID })
	next.Codes = mergeByKey(next.Codes, c.Codes, codes, func(o store.Code) string { return string(o.Hash) })
	s.current.Store(newDirectory(&next))
	if len(c.Persons)+len(c.RemovedPeople) > 0 {
		s.Feed.PublishFact(feed.Fact{Kinds: feed.Accounts})
	}
	for _, id := range slices.Concat(c.RemovedSignIns, c.RemovedTokens) {
		s.lastUse.Delete(id)
		s.revocations.fire(id)
	}
	if c.SetLocked && c.Locked {
		if s.lockObserver != nil {
			s.lockObserver.AfterLock(context.WithoutCancel(ctx))
		}
		s.Feed.PublishFact(feed.Fact{Kinds: feed.Accounts, Note: removed})
	}
	return nil
}

// ObserveLock sets the observer. Call it before the first change.
func (s *Service) ObserveLock(o LockObserver) {
	if s != nil {
		s.lockObserver = o
	}
}

// mergeByKey returns a sorted copy of old without the removed elements, with written added
// or replaced.
func mergeByKey[T any](old, written []T, removed []string, key func(T) string) []T {
	next := slices.DeleteFunc(slices.Clone(old), func(o T) bool {
		same := func(change T) bool { return key(change) == key(o) }
		return slices.Contains(removed, key(o)) || slices.ContainsFunc(written, same)
	})
	next = append(next, written...)
	slices.SortFunc(next, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return next
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

// findPerson returns the account with that name, ignoring case, or nil.
func (d *directory) findPerson(name string) *store.Person {
	i := slices.IndexFunc(d.Persons, func(o store.Person) bool { return strings.EqualFold(o.Name, name) })
	if i < 0 {
		return nil
	}
	return &d.Persons[i]
}

// Accounts returns all accounts, sorted by name.
func (s *Service) Accounts(context.Context) []schema.Person {
	if s == nil {
		return nil
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
		Name: person.Name, Role: person.Role, Owner: person.Owner, Email: person.Email,
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

// IdentityOf returns the identity of a named person for a caller that was verified by
// other means, such as a signed link. ok is false if there is no such account.
func (s *Service) IdentityOf(name, via string) (id Identity, ok bool) {
	if s == nil {
		return Identity{}, false
	}
	person := s.current.Load().findPerson(name)
	if person == nil {
		return Identity{}, false
	}
	return Identity{Name: person.Name, Role: person.Role, Owner: person.Owner, Via: via}, true
}

// CreatedAt returns when the account was created or last reset; ok is false if there is none.
// Anything older that carries the name may be another person's: an earlier account's, or the
// doing of a person who had access before the reset.
func (s *Service) CreatedAt(name string) (at time.Time, ok bool) {
	if s == nil {
		return at, false
	}
	person := s.current.Load().findPerson(name)
	if person == nil {
		return at, false
	}
	return latest(person.CreatedAt, person.ResetAt), true
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
