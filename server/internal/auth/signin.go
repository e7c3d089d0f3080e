package auth

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// SignInLinkLifetime is how long a sign-in link works.
const SignInLinkLifetime = 15 * time.Minute

const (
	codeLifetime = SignInLinkLifetime
	maxUserAgent = 256 // bytes of a browser's User-Agent
)

// SignInAttempt is a request to sign in with a one-time code.
type SignInAttempt struct {
	Code  string
	Name  string // chosen name of the hub's first person
	From  netip.Addr
	Pairs bool // the code is that of a pairing
	// UserAgent is shown in the list of sessions.
	UserAgent string
}

// Session is a new session. Cookie and Key are returned only once; the hub stores their
// digests.
type Session struct {
	Cookie, Key string
	Until       time.Time // expiry of the cookie
	Identity    Identity
}

// OwnerCode returns a one-time code whose first user becomes the owner, and voids earlier
// ones. It returns an empty string if the hub has an owner.
func (s *Service) OwnerCode(ctx context.Context) (string, error) {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	if s.HasOwner() {
		return "", nil
	}
	record := store.LedgerRecord{Action: "owner.link_made", Actor: "the hub's machine"}
	return s.newCode(ctx, store.Code{Method: "link"}, &store.PeopleChange{}, record)
}

// newCode adds a one-time code to change c and applies it. It voids earlier codes of the
// same person. The caller holds changeMu.
func (s *Service) newCode(ctx context.Context, draft store.Code, c *store.PeopleChange, records ...store.LedgerRecord) (string, error) {
	now := s.Clock()
	for _, old := range s.current.Load().Codes {
		if old.Person == draft.Person || s.isCodeExpired(&old) {
			c.RemovedCodes = append(c.RemovedCodes, old.Hash)
		}
	}
	code := newSecret(codeBytes, codeChars)
	hash := digestOf(code)
	draft.Hash, draft.CreatedAt = hash[:], now
	if draft.ExpiresAt.IsZero() {
		draft.ExpiresAt = now.Add(codeLifetime)
	}
	c.Codes = []store.Code{draft}
	return code, s.applyChange(ctx, c, records...)
}

// isCodeExpired reports whether a code has expired. A code from the future was created before
// the clock was set back; its age is unknown, so it counts as expired.
func (s *Service) isCodeExpired(c *store.Code) bool {
	return s.isExpired(c.ExpiresAt) || s.Clock().Before(c.CreatedAt.Add(-time.Minute))
}

// SignIn exchanges a one-time code for a session. The rate limit applies to wrong codes only:
// a code has 128 random bits, so a valid one cannot be a guess.
func (s *Service) SignIn(ctx context.Context, a SignInAttempt) (*Session, error) {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	hash := digestOf(a.Code)
	if s.current.Load().codes[hash] == nil {
		s.refreshLocked(ctx)
	}
	code := s.current.Load().codes[hash]
	if code != nil && (code.Person == "" && s.HasOwner() || code.Person != "" && s.current.Load().findPerson(code.Person) == nil) {
		code = nil // its account is gone
	}
	if problem := s.codeProblem(hash, code, a.Pairs); problem != "" {
		if err := s.signInLimiter.check(a.From, s.Clock()); err != nil {
			return nil, err
		}
		s.signInLimiter.count(failedSignIns, a.From, s.Clock())
		s.appendLedger(ctx, ledgerRecord("person.sign_in_failed", Identity{}, map[string]any{"from": a.From.String(), "userAgent": sanitize(a.UserAgent, maxUserAgent)}))
		return nil, &schema.HintError{Err: schema.ErrSignIn, Hint: problem}
	}
	c := store.PeopleChange{RemovedCodes: [][]byte{hash[:]}}
	person := s.current.Load().findPerson(code.Person)
	if person == nil {
		name, err := s.validateNewName(a.Name)
		if err != nil {
			return nil, err
		}
		person = &store.Person{Name: name, Role: schema.Admin, Owner: true, CreatedAt: s.Clock()}
	}
	session, err := s.createSession(ctx, &c, verifiedPerson{
		person: person, method: code.Method, confirmed: code.Confirmed, userAgent: a.UserAgent, from: a.From,
	})
	if err == nil {
		s.recordUsedPairing(hash, code)
	}
	return session, err
}

// codeProblem returns why a code can't be used for a sign-in or a pairing; empty: it can. code is nil
// if the hub has none with this digest.
func (s *Service) codeProblem(hash digest, code *store.Code, pairs bool) string {
	switch isPairing := code != nil && code.Method == methodPair; {
	case code != nil && isPairing != pairs:
		return "This is the code of another kind of link. Open the whole link, or scan the QR code again."
	case code != nil && !s.isCodeExpired(code):
		return ""
	case !pairs:
		return "This link was already used or is older than 15 minutes. " + s.newLinkHint()
	case code != nil:
		return "This pairing code is older than 10 minutes. Show a new one under Settings, Hub, on your computer."
	case s.usedPairings[hash]:
		return "This pairing code was already used. Show a new one under Settings, Hub, on your computer."
	default:
		return "This hub has no such pairing code. It may be replaced by a newer one or belong to another hub. Show a new one under Settings, Hub, on your computer."
	}
}

// recordUsedPairing remembers a used code for a better message. A restart loses it.
func (s *Service) recordUsedPairing(hash digest, code *store.Code) {
	if code.Method != methodPair {
		return
	}
	if s.usedPairings == nil || len(s.usedPairings) >= 1000 {
		s.usedPairings = map[digest]bool{}
	}
	s.usedPairings[hash] = true
}

// RefuseAttempt counts a wrong secret from that network as a failed sign-in. It returns err, or
// schema.ErrTooMany if too many have failed.
func (s *Service) RefuseAttempt(from netip.Addr, err error) error {
	if limited := s.signInLimiter.check(from, s.Clock()); limited != nil {
		return limited
	}
	s.signInLimiter.count(failedSignIns, from, s.Clock())
	return err
}

func (s *Service) newLinkHint() string {
	if s.HasOwner() {
		return "Ask an admin for a new one, or stop the hub and run its program with -sign-in NAME."
	}
	return "Restart the hub: it prints a new one."
}

// verifiedPerson is a person who has presented a valid code.
type verifiedPerson struct {
	person            *store.Person
	method, userAgent string
	confirmed         bool // a passkey of the person confirmed the code
	from              netip.Addr
}

// createSession adds a session to change c and applies it. An owner's first session locks the
// hub. The caller holds changeMu.
func (s *Service) createSession(ctx context.Context, c *store.PeopleChange, e verifiedPerson) (*Session, error) {
	now := s.Clock()
	for i := range s.current.Load().SignIns { // remove expired sessions here: there are few
		if old := &s.current.Load().SignIns[i]; s.isExpired(s.sessionExpiry(old)) {
			c.RemovedSignIns = append(c.RemovedSignIns, old.ID)
		}
	}
	c.LedgerRecords = append(c.LedgerRecords, ledgerRecord("person.signed_in", Identity{Name: e.person.Name}, map[string]any{"way": e.method, "from": e.from.String(), "owner": e.person.Owner}))
	if !e.person.SignedIn {
		first := *e.person
		first.SignedIn = true
		c.Persons = append(c.Persons, first)
		if first.Owner && !s.IsLocked() {
			lockIn(c, Identity{Name: first.Name}) // an owned hub is locked unless they open it
		}
	}
	session := &Session{Cookie: newSecret(secretBytes, secretChars), Key: newSecret(secretBytes, secretChars), Until: now.Add(sessionMaxAge)}
	cookie, key := digestOf(session.Cookie), digestOf(session.Key)
	stored := store.SignIn{
		ID: newID("s_"), Person: e.person.Name, Method: e.method, Confirmed: e.confirmed, UserAgent: sanitize(e.userAgent, maxUserAgent),
		Cookie: cookie[:], Key: key[:], CreatedAt: now, LastSeenAt: now,
	}
	c.SignIns = append(c.SignIns, stored)
	if err := s.applyChange(ctx, c); err != nil {
		return nil, err
	}
	session.Identity = sessionIdentity(e.person, &stored)
	return session, nil
}

// SignOut ends the caller's session.
func (s *Service) SignOut(ctx context.Context, id Identity) error {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	if id.Via != "session" {
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "There is no session to end: you are not signed in with a browser."}
	}
	return s.applyChange(ctx, &store.PeopleChange{RemovedSignIns: []string{id.ID}},
		ledgerRecord("person.signed_out", id, map[string]any{"name": id.Name, "signIn": id.ID}))
}

// Lock restricts answers to signed-in operators, or lifts the restriction.
func (s *Service) Lock(ctx context.Context, locked bool, id Identity) error {
	if err := s.Check(schema.AccessAdmin, id); err != nil {
		return err
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	if s.IsLocked() == locked {
		return nil
	}
	if locked {
		c := store.PeopleChange{}
		lockIn(&c, id)
		return s.applyChange(ctx, &c)
	}
	return s.applyChange(ctx, &store.PeopleChange{SetLocked: true}, ledgerRecord("hub.unlocked", id, nil))
}

// lockIn makes a change lock the hub.
func lockIn(c *store.PeopleChange, by Identity) {
	c.SetLocked, c.Locked = true, true
	c.LedgerRecords = append(c.LedgerRecords, ledgerRecord("hub.locked", by, nil))
}

// RecoverAccess returns a one-time code for a person who can no longer sign in. On a hub
// without an owner it creates the account and makes it the owner.
func (s *Service) RecoverAccess(ctx context.Context, name string) (string, error) {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	c := store.PeopleChange{}
	person := s.current.Load().findPerson(name)
	if person == nil {
		if s.HasOwner() {
			return "", fmt.Errorf("no person named %q: the people of this hub are %s", name, strings.Join(s.personNames(), ", "))
		}
		valid, err := s.validateNewName(name)
		if err != nil {
			return "", err
		}
		person = &store.Person{Name: valid, Role: schema.Admin, Owner: true, CreatedAt: s.Clock()}
		c.Persons = []store.Person{*person}
	}
	return s.newCode(ctx, store.Code{Person: person.Name, Method: "link"}, &c,
		store.LedgerRecord{Action: "person.link_made", Actor: "the hub's machine", Data: map[string]any{"name": person.Name}})
}

// Me describes the caller. mayAct is false if the request carries no page key; isLocal is
// true if the caller needs no credentials because the request comes from this machine.
func (s *Service) Me(id Identity, mayAct, isLocal bool) schema.Me {
	me := schema.Me{Name: id.Name, Role: id.Role, Verified: id.IsAuthenticated(), Owner: id.Owner, Locked: s.IsLocked(), Owned: s.HasOwner()}
	me.Name = cmp.Or(me.Name, LocalName)
	if id.Via == "session" {
		me.SignIn = id.ID
	}
	me.PasskeyFor, me.Paired = s.PasskeyThreshold(), id.Paired
	if id.Paired {
		me.PasskeyFor = me.PasskeyFor.AtLeastHigh()
	}
	at, hasPasskeys := s.relyingParty(id)
	me.PasskeyAt = at.Origin
	if s != nil && (id.IsAuthenticated() || isLocal) {
		me.Changes = s.recentChanges()
	}
	if hasPasskeys && id.IsAuthenticated() && !id.Agent {
		me.Passkeys = len(s.current.Load().passkeysAt(at, id.Name))
	}
	if s.HasProvider() {
		me.Ways = []string{"oidc"}
	}
	if !mayAct {
		id = Identity{}
	}
	if id.IsAuthenticated() || isLocal {
		me.CanAnswer, me.CanAdmin = s.Check(schema.AccessDecide, id) == nil, s.Check(schema.AccessAdmin, id) == nil
	}
	return me
}
