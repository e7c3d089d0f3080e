package auth

import (
	"context"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// An address is a credential: mail to it carries links that answer in the person's name, and the
// OpenID provider or a trusted proxy can identify the person by it.

var errAddressByToken = &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Nothing was changed. A person can sign in and answer with their address, so a token can't set it. Do this in the dashboard while you are signed in there."}

// requireAddressAccess returns an error if d changes the address of a person that the caller may
// not decide: that of someone else who has signed in, the caller's own without a session, or any with a
// token. A person with an address can sign in or answer, also after a stolen token was revoked.
func requireAddressAccess(person *store.Person, d *schema.PersonDraft, caller Identity) error {
	switch {
	case d.Email == nil || strings.TrimSpace(*d.Email) == person.Email:
		return nil
	case requireBrowser(caller) != nil:
		return errAddressByToken
	case person.Name == caller.Name && caller.Via == "session" && !caller.Paired:
		return nil
	case person.Name == caller.Name:
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Nothing was changed. Change your address in a browser that is signed in with a link or with the OpenID provider."}
	case person.Owner || person.SignedIn:
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Nothing was changed. " + person.Name + " has signed in, and mail to their address can answer in their name, so only they can change it."}
	default:
		return nil
	}
}

// SetOwnAddress changes the e-mail address of the caller, who is signed in with a browser. An empty
// one removes it.
func (s *Service) SetOwnAddress(ctx context.Context, email string, caller Identity) error {
	if err := s.Check(schema.AccessOwn, caller); err != nil {
		return err
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	person, err := s.lookup(caller.Name)
	if err != nil {
		return err
	}
	d := schema.PersonDraft{Email: &email}
	if err := requireAddressAccess(&person, &d, caller); err != nil {
		return err
	}
	// The provider finds an account without a subject by its address, and gives it the role of
	// the next person who signs in with that address.
	if s.HasProvider() && person.Subject == "" && !caller.HasRole(schema.Admin) && strings.TrimSpace(email) != "" {
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "Nothing was changed. Sign in with the OpenID provider once, then change your address."}
	}
	old := person.Email
	if err := s.applyDraft(&person, d); err != nil || person.Email == old {
		return err
	}
	return s.applyChange(ctx, &store.PeopleChange{
		People:        store.People{Persons: []store.Person{person}},
		LedgerRecords: []store.LedgerRecord{ledgerRecord("person.changed", caller, map[string]any{"name": person.Name, "role": person.Role})},
	})
}
