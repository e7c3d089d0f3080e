package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// directory is an immutable snapshot of all accounts, sessions, tokens and codes. Several hubs can share one store,
// and each has one in memory. The store refuses a change that was computed from an old one.
type directory struct {
	store.People
	tokens  map[digest]*store.Token
	signIns map[digest]*store.SignIn // by digest of the cookie
	codes   map[digest]*store.Code
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

// findPerson returns the account with that name, ignoring case, or nil.
func (d *directory) findPerson(name string) *store.Person {
	i := slices.IndexFunc(d.Persons, func(o store.Person) bool { return strings.EqualFold(o.Name, name) })
	if i < 0 {
		return nil
	}
	return &d.Persons[i]
}

// find returns the account with that name, ignoring case, or nil.
func (s *Service) find(name string) *store.Person {
	if s == nil {
		return nil
	}
	return s.current.Load().findPerson(name)
}

// IdentityOf returns the identity of a named person for a caller that was verified by
// other means, such as a signed link. ok is false if there is no such account.
func (s *Service) IdentityOf(name, via string) (id Identity, ok bool) {
	person := s.find(name)
	if person == nil {
		return Identity{}, false
	}
	return Identity{Name: person.Name, Role: person.Role, Owner: person.Owner, Via: via}, true
}

// CreatedAt returns when the account was created or last reset; ok is false if there is none.
// Anything older that carries the name may be another person's: an earlier account's, or the
// doing of a person who had access before the reset.
func (s *Service) CreatedAt(name string) (at time.Time, ok bool) {
	person := s.find(name)
	if person == nil {
		return at, false
	}
	return latest(person.CreatedAt, person.ResetAt), true
}

// ResetAt returns when an admin last reset the account; the zero time if never.
func (s *Service) ResetAt(name string) time.Time {
	if person := s.find(name); person != nil {
		return person.ResetAt
	}
	return time.Time{}
}

// lookup returns a copy of the account with that name, or schema.ErrNotFound.
func (s *Service) lookup(name string) (store.Person, error) {
	person := s.find(name)
	if person == nil {
		return store.Person{}, &schema.HintError{Err: schema.ErrNotFound, Hint: "No person with this name has an account on this hub."}
	}
	return *person, nil
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

// Reload reads the accounts again, and applies what other hubs have changed as this hub's own changes.
func (s *Service) Reload(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	return s.reload(ctx)
}

// reload is Reload. The caller holds changeMu.
func (s *Service) reload(ctx context.Context) error {
	next, err := s.readDirectory(ctx)
	if err != nil {
		return err
	}
	s.replace(ctx, next, nil)
	return nil
}

// replace makes next the current directory and reports what changed, here or at another hub. A lock is reported
// with note. The caller holds changeMu.
func (s *Service) replace(ctx context.Context, next *directory, note any) {
	before := s.current.Swap(next)
	for _, id := range endedCredentials(before, next) {
		s.lastUse.Delete(id)
		s.revocations.fire(id)
	}
	if !slices.EqualFunc(before.Persons, next.Persons, isSamePerson) {
		s.Feed.PublishFact(feed.Fact{Kinds: feed.Accounts})
		s.announceChanges(before, next)
	}
	if next.Locked && !before.Locked {
		if s.lockObserver != nil {
			s.lockObserver.AfterLock(context.WithoutCancel(ctx))
		}
		s.Feed.PublishFact(feed.Fact{Kinds: feed.Accounts, Note: note})
	}
}

// readAttempts is how often changing accounts are read. An old version is safe: its changes are refused.
const readAttempts = 3

func (s *Service) readDirectory(ctx context.Context) (*directory, error) {
	for attempt := 1; ; attempt++ {
		stored, err := s.Store.People(ctx)
		var version int64
		if err == nil {
			version, err = s.Store.PeopleVersion(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("read accounts: %w", err)
		}
		if version != stored.Version && attempt < readAttempts {
			continue
		}
		for i := range stored.Passkeys { // earlier versions had one address, that of the start
			if k := &stored.Passkeys[i]; k.RPID == "" && s.Passkeys != nil {
				k.RPID = s.Passkeys.RPID
			}
		}
		return newDirectory(stored), nil
	}
}

// refreshTimeout bounds a request's wait for the accounts.
const refreshTimeout = 2 * time.Second

// refresh reads the accounts again if another hub has changed them, such as by a sign-in a moment ago.
func (s *Service) refresh() {
	ctx, cancel := context.WithTimeout(context.Background(), refreshTimeout)
	defer cancel()
	version, err := s.Store.PeopleVersion(ctx)
	if err != nil || version == s.current.Load().Version { // unknown tokens of a flood do not wait for each other
		return
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	s.refreshLocked(ctx)
}

// refreshLocked is refresh. The caller holds changeMu.
func (s *Service) refreshLocked(ctx context.Context) {
	version, err := s.Store.PeopleVersion(ctx)
	if err == nil && version != s.current.Load().Version {
		err = s.reload(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Error("accounts not read; a new sign-in may be refused", "err", err)
	}
}

// maxChangeAttempts limits the attempts of a change while other hubs change other accounts.
const maxChangeAttempts = 16

var errAccountsChanged = &schema.HintError{Err: schema.ErrStale, Hint: "The accounts have just changed. Nothing was stored. Try again."}

// storeChange stores a change that was computed from the current directory. If another hub has changed
// something else in the meantime, it is stored after that; if it may depend on that change, it is
// refused.
func (s *Service) storeChange(ctx context.Context, c *store.PeopleChange) (removed store.AnonymousRemoval, err error) {
	for range maxChangeAttempts {
		before := s.current.Load()
		c.Version = before.Version
		if removed, err = s.Store.ChangePeople(ctx, c); !errors.Is(err, store.ErrPeopleChanged) {
			return removed, err
		}
		if err = s.reload(ctx); err != nil {
			return removed, err
		}
		if dependsOn(c, before, s.current.Load()) {
			return removed, errAccountsChanged
		}
	}
	return removed, schema.ErrBusy
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
	s.replace(ctx, newDirectory(&next), removed)
	return nil
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

// dependsOn reports whether a change that was computed from before may be another one from now: someone's
// authority, a credential or one of the change's own records has changed.
func dependsOn(c *store.PeopleChange, before, now *directory) bool {
	own := map[string]bool{}
	for i := range c.Persons {
		own[c.Persons[i].Name] = true
	}
	if before.Locked != now.Locked || !slices.EqualFunc(before.Persons, now.Persons, func(a, b store.Person) bool {
		if !own[a.Name] {
			a.SignedIn, b.SignedIn = false, false // authorizes nothing
		}
		return isSamePerson(a, b)
	}) {
		return true
	}
	hashes := slices.Clone(c.RemovedCodes)
	for i := range c.Codes {
		hashes = append(hashes, c.Codes[i].Hash)
	}
	passkeys := slices.Clone(c.RemovedPasskeys)
	for i := range c.Passkeys {
		passkeys = append(passkeys, c.Passkeys[i].ID)
	}
	return len(endedCredentials(before, now)) > 0 || // perhaps the caller's
		slices.ContainsFunc(hashes, func(hash []byte) bool {
			return (before.codes[digest(hash)] == nil) != (now.codes[digest(hash)] == nil)
		}) ||
		slices.ContainsFunc(passkeys, func(id string) bool { return before.passkeyState(id) != now.passkeyState(id) })
}

// credentials returns the ids of the sign-ins and tokens, except those whose person has no account.
func (d *directory) credentials() map[string]bool {
	persons, ids := map[string]bool{}, map[string]bool{}
	for i := range d.Persons {
		persons[d.Persons[i].Name] = true
	}
	for i := range d.SignIns {
		if persons[d.SignIns[i].Person] {
			ids[d.SignIns[i].ID] = true
		}
	}
	for i := range d.Tokens {
		if person := d.Tokens[i].Person; person == "" || persons[person] {
			ids[d.Tokens[i].ID] = true
		}
	}
	return ids
}

// endedCredentials returns the ids of before that next does not have.
func endedCredentials(before, next *directory) (ids []string) {
	kept := next.credentials()
	for id := range before.credentials() {
		if !kept[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// passkeyState returns the signature counter of a passkey; -1: there is none.
func (d *directory) passkeyState(id string) int64 {
	i := slices.IndexFunc(d.People.Passkeys, func(o store.Passkey) bool { return o.ID == id })
	if i < 0 {
		return -1
	}
	return int64(d.People.Passkeys[i].SignCount)
}

// isSamePerson compares accounts as they are stored.
func isSamePerson(a, b store.Person) bool {
	for _, p := range []*store.Person{&a, &b} {
		for _, t := range []*time.Time{&p.CreatedAt, &p.LastSeenAt, &p.ResetAt, &p.PromotedAt} {
			*t = time.UnixMilli(int64(toMillis(*t)))
		}
	}
	return a == b
}

// accountChanges returns the reset and the promotion of a person after these times.
func accountChanges(p *store.Person, reset, promoted time.Time) (changes []schema.AccountChange) {
	if p.ResetAt.After(reset) {
		changes = append(changes, schema.AccountChange{Change: "reset", Person: p.Name, By: p.ResetBy, At: toMillis(p.ResetAt)})
	}
	if p.PromotedAt.After(promoted) {
		changes = append(changes, schema.AccountChange{Change: "promoted", Person: p.Name, By: p.PromotedBy, At: toMillis(p.PromotedAt)})
	}
	return changes
}

// announceChanges announces changes of accounts to their person, the admins and the owner.
func (s *Service) announceChanges(before, next *directory) {
	for i := range next.Persons {
		p, old := &next.Persons[i], store.Person{}
		if was := before.findPerson(p.Name); was != nil {
			old = *was
		}
		to := []string{p.Name}
		for _, other := range next.Persons {
			if other.Role == schema.Admin && other.Name != p.Name {
				to = append(to, other.Name)
			}
		}
		for _, change := range accountChanges(p, old.ResetAt, old.PromotedAt) {
			s.Feed.PublishFact(feed.Fact{Kinds: feed.Accounts, Note: Announcement{To: to, Change: change}})
		}
	}
}

// announcementTime is how long a change of an account is shown to everyone.
const announcementTime = 24 * time.Hour

// recentChanges returns the changes of accounts that are still shown, for people and local
// callers.
func (s *Service) recentChanges() (changes []schema.AccountChange) {
	since := s.Clock().Add(-announcementTime)
	for i := range s.current.Load().Persons {
		changes = append(changes, accountChanges(&s.current.Load().Persons[i], since, since)...)
	}
	return changes
}

var errStale = &schema.HintError{Err: schema.ErrBusy, Hint: "The database does not answer, so the hub cannot tell who may do this. Try again in a moment."}

// SetStale sets whether the accounts in memory may be too old to decide by, because the store does not
// answer. Until it is set back, no one is authenticated and no one may decide.
func (s *Service) SetStale(stale bool) {
	if s != nil {
		s.isStale.Store(stale)
	}
}
