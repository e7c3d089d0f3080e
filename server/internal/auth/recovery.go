package auth

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
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
	code, err = s.newCode(ctx, store.Code{Person: found.Name, Method: "link", Confirmed: confirmed}, &store.PeopleChange{},
		ledgerRecord("person.link_made", caller, map[string]any{"name": found.Name}))
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
	c := store.PeopleChange{People: store.People{Persons: []store.Person{person}}}
	s.endCredentials(&c, &person)
	err = s.applyChange(ctx, &c, ledgerRecord("person.reset", caller, map[string]any{"name": person.Name}))
	return s.publicPerson(&person), err
}

// A pairing code signs in a further device of a person. The device may answer, and changes nothing
// about accounts: it has at most the role operator.

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
	draft := store.Code{Person: person.Name, Method: methodPair, Confirmed: confirmed, ExpiresAt: expiresAt}
	code, err = s.newCode(ctx, draft, &store.PeopleChange{}, ledgerRecord("person.pairing_made", caller, map[string]any{"name": person.Name}))
	return code, expiresAt, err
}
