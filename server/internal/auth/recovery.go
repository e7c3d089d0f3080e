package auth

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/store"
)

// CreateSignInLink returns a one-time code that signs name in, and voids earlier ones. People
// create one for themselves in a signed-in browser, with a passkey if they have one. Admins create
// one for a person who has not signed in yet: a link for anyone else would be their identity.
func (s *Service) CreateSignInLink(
	ctx context.Context, name string, proof json.RawMessage, caller Identity,
) (person schema.Person, code string, err error) {
	if err := s.Check(schema.AccessOwn, caller); err != nil {
		return person, "", err
	}
	confirmed := false
	if own := strings.EqualFold(caller.Name, name); own {
		if caller.Via != "session" || caller.Paired {
			return person, "", errNoFullSession
		}
		confirmed, err = s.tryConfirm(ctx, caller, schema.CredentialAction{Do: schema.ActionLink, Target: caller.Name}, proof)
	} else {
		err = s.Check(schema.AccessAdmin, caller)
	}
	if err != nil {
		return person, "", err
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	found, err := s.lookup(name)
	if err != nil {
		return person, "", err
	}
	if (found.SignedIn || found.Owner) && found.Name != caller.Name {
		return person, "", &schema.HintError{Err: schema.ErrNotAllowed, Hint: found.Name + " has signed in before. If they lost access, reset them first: everyone on this hub sees that."}
	}
	code, err = s.newCode(ctx, store.Code{Person: found.Name, Method: "link", Confirmed: confirmed}, &store.PeopleChange{LedgerRecords: []store.LedgerRecord{ledgerRecord("person.link_made", caller, map[string]any{"name": found.Name})}})
	return s.publicPerson(&found), code, err
}

// ResetPerson ends the sessions, tokens, codes and passkeys of a person other than the owner, so
// that an admin can create a new link. It takes the passkey of an admin who has one. Everyone is
// notified, and the person's answers count only for questions that are asked later.
func (s *Service) ResetPerson(ctx context.Context, name string, proof json.RawMessage, caller Identity) (schema.Person, error) {
	if err := s.Check(schema.AccessAdmin, caller); err != nil {
		return schema.Person{}, err
	}
	person, err := s.lookup(name)
	switch {
	case err != nil:
		return schema.Person{}, err
	case person.Owner:
		return schema.Person{}, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "The owner cannot be reset. If they lost access, stop the hub and run its program with -sign-in " + person.Name + "."}
	case person.Name == caller.Name:
		return schema.Person{}, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "You cannot reset yourself. End your sign-ins, or ask another admin."}
	}
	if err := s.confirm(ctx, caller, schema.CredentialAction{Do: schema.ActionReset, Target: person.Name}, proof); err != nil {
		return schema.Person{}, err
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	if person, err = s.lookup(name); err != nil {
		return schema.Person{}, err
	}
	person.SignedIn, person.ResetAt, person.ResetBy = false, s.Clock(), caller.Name
	c := store.PeopleChange{
		People:        store.People{Persons: []store.Person{person}},
		LedgerRecords: []store.LedgerRecord{ledgerRecord("person.reset", caller, map[string]any{"name": person.Name})},
	}
	s.endCredentials(&c, &person)
	err = s.applyChange(ctx, &c)
	s.announceIf(err == nil, reset, &person, caller)
	return s.publicPerson(&person), err
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

// A pairing code signs in a further device of a person. The device may answer, and changes nothing
// about accounts: it has at most the role operator.

// methodPair is the sign-in method of paired devices.
const methodPair = "pair"

const pairingLifetime = 10 * time.Minute

// CreatePairing returns a one-time code that pairs a device with the caller's account, and voids
// earlier codes. It follows the rule of own sign-in links: a session, with a passkey if the person
// has one.
func (s *Service) CreatePairing(ctx context.Context, proof json.RawMessage, caller Identity) (code string, expiresAt time.Time, err error) {
	if err := s.Check(schema.AccessOwn, caller); err != nil {
		return "", expiresAt, err
	}
	if caller.Via != "session" || caller.Paired {
		return "", expiresAt, errNoFullSession
	}
	confirmed, err := s.tryConfirm(ctx, caller, schema.CredentialAction{Do: schema.ActionPair, Target: caller.Name}, proof)
	if err != nil {
		return "", expiresAt, err
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	person, err := s.lookup(caller.Name)
	if err != nil {
		return "", expiresAt, err
	}
	expiresAt = s.Clock().Add(pairingLifetime)
	code, err = s.newCode(ctx, store.Code{Person: person.Name, Method: methodPair, Confirmed: confirmed, ExpiresAt: expiresAt}, &store.PeopleChange{
		LedgerRecords: []store.LedgerRecord{ledgerRecord("person.pairing_made", caller, map[string]any{"name": person.Name})},
	})
	return code, expiresAt, err
}

// errNoFullSession reports a caller who may not create credentials: a proxy's, or a paired device.
var errNoFullSession = &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Do this in a browser that is signed in with a link or with the OpenID provider. A paired device can't."}

// sessionIdentity returns the identity of a session of a person, with the current role.
func sessionIdentity(person *store.Person, session *store.SignIn) Identity {
	id := Identity{Name: person.Name, Role: person.Role, Owner: person.Owner, Via: "session", ID: session.ID}
	if session.Method == methodPair {
		id.Paired, id.Owner = true, false
		if id.HasRole(schema.Admin) {
			id.Role = schema.Operator
		}
	}
	return id
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
