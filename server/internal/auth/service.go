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

// applyChange stores a change with records of the audit log and publishes a new directory. The caller
// holds changeMu and has computed the change from the current directory.
func (s *Service) applyChange(ctx context.Context, c *store.PeopleChange, records ...store.LedgerRecord) error {
	c.LedgerRecords = append(c.LedgerRecords, records...)
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

// lookup returns a copy of the account with that name, or schema.ErrNotFound.
func (s *Service) lookup(name string) (store.Person, error) {
	person := s.current.Load().findPerson(name)
	if person == nil {
		return store.Person{}, &schema.HintError{Err: schema.ErrNotFound, Hint: "No person with this name has an account on this hub."}
	}
	return *person, nil
}

// ledgerRecord returns an audit log record of an action by a person. more must hold no
// secrets.
func ledgerRecord(kind string, caller Identity, more map[string]any) store.LedgerRecord {
	return store.LedgerRecord{Action: kind, Actor: cmp.Or(caller.Name, LocalName), Data: more}
}

// appendLedger writes an audit log record that goes with no change.
func (s *Service) appendLedger(ctx context.Context, a store.LedgerRecord) {
	if err := s.Store.AppendLedger(context.WithoutCancel(ctx), a); err != nil {
		s.Log.Error("audit log append failed", "action", a.Action, "err", err)
	}
}

// The changes of an account that are announced.
const (
	reset    = "reset"
	promoted = "promoted"
)

// announcementTime is how long a change of an account is shown to everyone.
const announcementTime = 24 * time.Hour

// announceIf announces a change of an account to the person, the admins and the owner.
func (s *Service) announceIf(changed bool, change string, person *store.Person, caller Identity) {
	if !changed {
		return
	}
	names := []string{person.Name}
	for _, p := range s.current.Load().Persons {
		if p.Role == schema.Admin && p.Name != person.Name {
			names = append(names, p.Name)
		}
	}
	s.Feed.PublishFact(feed.Fact{Kinds: feed.Accounts, Note: Announcement{
		To: names, Change: schema.AccountChange{Change: change, Person: person.Name, By: caller.Name, At: toMillis(s.Clock())},
	}})
}

// recentChanges returns the changes of accounts that are still shown, for people and local
// callers.
func (s *Service) recentChanges() (changes []schema.AccountChange) {
	shown := func(at time.Time) bool { return !at.IsZero() && s.Clock().Before(at.Add(announcementTime)) }
	for _, p := range s.current.Load().Persons {
		if shown(p.ResetAt) {
			changes = append(changes, schema.AccountChange{Change: reset, Person: p.Name, By: p.ResetBy, At: toMillis(p.ResetAt)})
		}
		if shown(p.PromotedAt) {
			changes = append(changes, schema.AccountChange{Change: promoted, Person: p.Name, By: p.PromotedBy, At: toMillis(p.PromotedAt)})
		}
	}
	return changes
}

// ResetAt returns when an admin last reset the account; the zero time if never.
func (s *Service) ResetAt(name string) time.Time {
	if s == nil {
		return time.Time{}
	}
	if person := s.current.Load().findPerson(name); person != nil {
		return person.ResetAt
	}
	return time.Time{}
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

func (d *directory) passkeysOf(person string) (list []store.Passkey) {
	for _, k := range d.People.Passkeys {
		if k.Person == person {
			list = append(list, k)
		}
	}
	return list
}

// passkeysAt returns the passkeys of a person that work at an address.
func (d *directory) passkeysAt(rp RelyingParty, person string) (list []store.Passkey) {
	for _, k := range d.passkeysOf(person) {
		if k.RPID == rp.ID {
			list = append(list, k)
		}
	}
	return list
}

// HasProvider reports whether people can sign in with an OpenID provider.
func (s *Service) HasProvider() bool { return s != nil && s.OIDC != nil }
