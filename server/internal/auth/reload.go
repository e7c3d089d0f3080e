package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// Several hubs can share one store, and each has the accounts in memory. The store refuses a change
// that was computed from an old state.

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
	before := s.current.Swap(next)
	for _, id := range before.credentials() {
		if !next.hasCredential(id) {
			s.lastUse.Delete(id)
			s.revocations.fire(id)
		}
	}
	if !slices.EqualFunc(before.Persons, next.Persons, isSamePerson) {
		s.Feed.PublishFact(feed.Fact{Kinds: feed.Accounts})
		s.announceChanges(before, next)
	}
	if next.Locked && !before.Locked {
		if s.lockObserver != nil {
			s.lockObserver.AfterLock(context.WithoutCancel(ctx))
		}
		s.Feed.PublishFact(feed.Fact{Kinds: feed.Accounts})
	}
	return nil
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
	return slices.ContainsFunc(before.credentials(), func(id string) bool { return !now.hasCredential(id) }) || // perhaps the caller's
		slices.ContainsFunc(hashes, func(hash []byte) bool {
			return (before.codes[digest(hash)] == nil) != (now.codes[digest(hash)] == nil)
		}) ||
		slices.ContainsFunc(passkeys, func(id string) bool { return before.passkeyState(id) != now.passkeyState(id) })
}

// credentials returns the ids of all sign-ins and tokens.
func (d *directory) credentials() (ids []string) {
	for i := range d.SignIns {
		ids = append(ids, d.SignIns[i].ID)
	}
	for i := range d.Tokens {
		ids = append(ids, d.Tokens[i].ID)
	}
	return ids
}

// hasCredential reports whether a sign-in or token exists, and its person does.
func (d *directory) hasCredential(id string) bool {
	if i := slices.IndexFunc(d.SignIns, func(o store.SignIn) bool { return o.ID == id }); i >= 0 {
		return d.findPerson(d.SignIns[i].Person) != nil
	}
	i := slices.IndexFunc(d.Tokens, func(o store.Token) bool { return o.ID == id })
	return i >= 0 && (d.Tokens[i].Person == "" || d.findPerson(d.Tokens[i].Person) != nil)
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

// announceChanges announces the changes that another hub has announced in its own process.
func (s *Service) announceChanges(before, next *directory) {
	for i := range next.Persons {
		p, old := &next.Persons[i], store.Person{}
		if was := before.findPerson(p.Name); was != nil {
			old = *was
		}
		s.announceIf(p.ResetAt.After(old.ResetAt), reset, p, Identity{Name: p.ResetBy})
		s.announceIf(p.PromotedAt.After(old.PromotedAt), promoted, p, Identity{Name: p.PromotedBy})
	}
}

var errStale = &schema.HintError{Err: schema.ErrBusy, Hint: "The database does not answer, so the hub cannot tell who may do this. Try again in a moment."}

// SetStale sets whether the accounts in memory may be too old to decide by, because the store does not
// answer. Until it is set back, no one is authenticated and no one may decide.
func (s *Service) SetStale(stale bool) {
	if s != nil {
		s.isStale.Store(stale)
	}
}
