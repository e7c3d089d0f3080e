package auth

import (
	"cmp"
	"context"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxPersons is the maximum number of accounts. All of them are kept in memory.
const maxPersons = 1000

// AddPerson creates an account and returns it with a one-time sign-in code. A caller with a token
// gets no code and sets no e-mail address: a credential must not create another one.
func (s *Service) AddPerson(ctx context.Context, d schema.PersonDraft, caller Identity) (person schema.Person, code string, err error) {
	if err := s.Check(schema.AccessAdmin, caller); err != nil {
		return person, "", err
	}
	if d.Role == schema.Admin {
		if err := s.confirmPromotion(ctx, caller, d.Name, d.Proof); err != nil {
			return person, "", err
		}
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	dir := s.current.Load()
	if len(dir.Persons) >= maxPersons {
		return person, "", &schema.FieldError{Detail: "would make more than 1000 people"}
	}
	account := store.Person{Role: schema.Operator, CreatedAt: s.Clock()}
	if account.Name, err = s.validateNewName(d.Name); err != nil {
		return person, "", err
	}
	if strings.Contains(account.Name, "@") && requireBrowser(caller) != nil { // a proxy may identify people by it
		return person, "", errAddressByToken
	}
	if err := requireAddressAccess(&account, &d, caller); err != nil {
		return person, "", err
	}
	if err := s.applyDraft(&account, d); err != nil {
		return person, "", err
	}
	if account.Role == schema.Admin {
		account.PromotedAt, account.PromotedBy = s.Clock(), caller.Name
	}
	c := store.PeopleChange{People: store.People{Persons: []store.Person{account}}}
	made := ledgerRecord("person.made", caller, map[string]any{"name": account.Name, "role": account.Role})
	if requireBrowser(caller) != nil {
		err = s.applyChange(ctx, &c, made)
		return s.publicPerson(&account), "", err
	}
	if code, err = s.newCode(ctx, store.Code{Person: account.Name, Method: "link"}, &c, made); err != nil {
		return person, "", err
	}
	return s.publicPerson(&account), code, nil
}

// applyDraft sets the role and the e-mail address from d, if present. The address must be
// unique.
func (s *Service) applyDraft(person *store.Person, d schema.PersonDraft) error {
	if d.Role != "" {
		if !slices.Contains(roleOrder, d.Role) {
			return &schema.FieldError{Field: "role", Detail: "must be one of viewer, operator, admin"}
		}
		person.Role = d.Role
	}
	if d.Handles != nil {
		if err := setHandles(person, *d.Handles); err != nil {
			return err
		}
	}
	if d.Email == nil {
		return nil
	}
	email := strings.TrimSpace(*d.Email)
	if email != "" {
		if a, err := mail.ParseAddress(email); err != nil || a.Address != email || len(email) > 254 {
			return &schema.FieldError{Field: "email", Detail: "must be one address, such as ada@example.com"}
		}
	}
	for i := range s.current.Load().Persons {
		// A trusted proxy may identify people by address, so two accounts must not share
		// one.
		if other := &s.current.Load().Persons[i]; email != "" && other.Name != person.Name && strings.EqualFold(other.Email, email) {
			return &schema.FieldError{Field: "email", Detail: "belongs to another person"}
		}
	}
	person.Email = email
	return nil
}

// maxHandles is the maximum number of handles of a person.
const maxHandles = 20

// setHandles replaces the names of a person in CODEOWNERS files.
func setHandles(person *store.Person, handles []string) error {
	isInvalid := func(handle string) bool {
		return len(handle) > schema.MaxOwnerBytes || !strings.Contains(handle, "@") || strings.TrimFunc(handle, unicode.IsGraphic) != "" ||
			strings.ContainsFunc(handle, unicode.IsSpace)
	}
	if len(handles) > maxHandles || slices.ContainsFunc(handles, isInvalid) {
		return &schema.FieldError{Field: "handles", Detail: fmt.Sprintf("must be at most %d names such as @ada, @org/team or ada@example.com", maxHandles)}
	}
	person.Handles = strings.Join(handles, " ")
	return nil
}

// ChangePerson changes a person's role, e-mail address or handles. Open connections follow the new
// role, because each request looks it up.
func (s *Service) ChangePerson(ctx context.Context, name string, d schema.PersonDraft, caller Identity) (schema.Person, error) {
	if err := s.Check(schema.AccessAdmin, caller); err != nil {
		return schema.Person{}, err
	}
	person, err := s.lookup(name)
	if err != nil {
		return schema.Person{}, err
	}
	promotes := d.Role == schema.Admin && person.Role != schema.Admin
	if promotes {
		if err := s.confirmPromotion(ctx, caller, person.Name, d.Proof); err != nil {
			return schema.Person{}, err
		}
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	if person, err = s.lookup(name); err != nil {
		return schema.Person{}, err
	}
	if d.Role == schema.Admin && person.Role != schema.Admin && !promotes {
		return schema.Person{}, &schema.HintError{Err: schema.ErrStale, Hint: "The role of " + person.Name + " has just changed. Try again."}
	}
	if err := requireAddressAccess(&person, &d, caller); err != nil {
		return schema.Person{}, err
	}
	if err := s.applyDraft(&person, d); err != nil {
		return schema.Person{}, err
	}
	if person.Owner && person.Role != schema.Admin {
		return schema.Person{}, &schema.FieldError{Field: "role", Detail: "of the owner must stay admin"}
	}
	if promotes {
		person.PromotedAt, person.PromotedBy = s.Clock(), caller.Name
	}
	err = s.changePerson(ctx, &person, caller)
	return s.publicPerson(&person), err
}

// changePerson stores a changed account.
func (s *Service) changePerson(ctx context.Context, person *store.Person, caller Identity) error {
	return s.applyChange(ctx, &store.PeopleChange{People: store.People{Persons: []store.Person{*person}}},
		ledgerRecord("person.changed", caller, map[string]any{"name": person.Name, "role": person.Role, "handles": person.Handles}))
}

// RemovePerson deletes an account with its sessions, tokens, codes and passkeys. The owner
// cannot be removed.
func (s *Service) RemovePerson(ctx context.Context, name string, caller Identity) error {
	if err := s.Check(schema.AccessAdmin, caller); err != nil {
		return err
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	person, err := s.lookup(name)
	if err != nil {
		return err
	}
	if person.Owner {
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "The owner cannot be removed: on a hub without an owner, the next person with a sign-in link could take it over."}
	}
	c := store.PeopleChange{RemovedPeople: []string{person.Name}}
	s.endCredentials(&c, &person)
	return s.applyChange(ctx, &c, ledgerRecord("person.removed", caller, map[string]any{"name": person.Name}))
}

// endCredentials makes a change end the sessions, tokens, codes and passkeys of a person.
func (s *Service) endCredentials(c *store.PeopleChange, person *store.Person) {
	dir := s.current.Load()
	for _, session := range dir.SignIns {
		if session.Person == person.Name {
			c.RemovedSignIns = append(c.RemovedSignIns, session.ID)
		}
	}
	for _, t := range dir.Tokens {
		if t.Person == person.Name {
			c.RemovedTokens = append(c.RemovedTokens, t.ID)
		}
	}
	for _, code := range dir.Codes {
		if code.Person == person.Name {
			c.RemovedCodes = append(c.RemovedCodes, code.Hash)
		}
	}
	for _, k := range dir.passkeysOf(person.Name) {
		c.RemovedPasskeys = append(c.RemovedPasskeys, k.ID)
	}
}

// List returns all accounts. E-mail addresses are included for admins and for the caller's
// own account only.
func (s *Service) List(ctx context.Context, caller Identity) []schema.Person {
	people := s.Accounts(ctx)
	for i := range people {
		if !caller.SeesContactsOf(people[i].Name) {
			people[i].Email = ""
		}
	}
	return people
}

// SeesContactsOf reports whether the caller is an admin or that person.
func (id Identity) SeesContactsOf(person string) bool {
	return id.IsAuthenticated() && (id.HasRole(schema.Admin) || !id.Agent && id.Name == person)
}

// SignIns returns the caller's own sessions, or everyone's for an admin, last used first.
func (s *Service) SignIns(caller Identity) ([]schema.SignIn, error) {
	if err := s.Check(schema.AccessOwn, caller); err != nil {
		return nil, err
	}
	list := []schema.SignIn{}
	dir := s.current.Load()
	for i := range dir.SignIns {
		session := &dir.SignIns[i]
		if session.Person != caller.Name && !caller.HasRole(schema.Admin) || s.isExpired(s.sessionExpiry(session)) {
			continue
		}
		list = append(list, schema.SignIn{
			ID: session.ID, Person: session.Person, UserAgent: session.UserAgent, Way: session.Method, CreatedAt: toMillis(session.CreatedAt),
			LastSeenAt: toMillis(s.lastUsed(session.ID, session.LastSeenAt)), ExpiresAt: toMillis(s.sessionExpiry(session)), Current: session.ID == caller.ID,
		})
	}
	slices.SortFunc(list, func(a, b schema.SignIn) int { return cmp.Compare(b.LastSeenAt, a.LastSeenAt) })
	return list, nil
}

// EndSignIn revokes a session of the caller, or of anyone if the caller is an admin.
func (s *Service) EndSignIn(ctx context.Context, id string, caller Identity) error {
	if err := s.Check(schema.AccessOwn, caller); err != nil {
		return err
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	for _, session := range s.current.Load().SignIns {
		if session.ID != id || session.Person != caller.Name && !caller.HasRole(schema.Admin) {
			continue
		}
		return s.applyChange(ctx, &store.PeopleChange{RemovedSignIns: []string{id}},
			ledgerRecord("person.signed_out", caller, map[string]any{"name": session.Person, "signIn": id}))
	}
	return &schema.HintError{Err: schema.ErrNotFound, Hint: "You have no session with this id."}
}

// Run stores the times of last use every minute and fires revocation hooks of expired
// sessions and tokens. It blocks until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	expiring, noting := time.NewTicker(time.Second/2), time.NewTicker(time.Minute)
	defer expiring.Stop()
	defer noting.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.saveLastUse(context.WithoutCancel(ctx))
		case <-expiring.C:
			s.fireExpired()
		case <-noting.C:
			if err := s.saveLastUse(ctx); err != nil && ctx.Err() == nil {
				s.Log.Error("last-use times not stored", "err", err)
			}
		}
	}
}

// saveLastUse stores when sessions and tokens were last used, and reads when they were used at other
// hubs: they end without use.
func (s *Service) saveLastUse(ctx context.Context) error {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	dir := s.current.Load()
	uses := store.Uses{SignIns: map[string]time.Time{}, Tokens: map[string]time.Time{}}
	for _, session := range dir.SignIns {
		if used := s.lastUsed(session.ID, session.LastSeenAt); used.After(session.LastSeenAt) {
			uses.SignIns[session.ID] = used
		}
	}
	for _, t := range dir.Tokens {
		if used := s.lastUsed(t.ID, t.LastUsedAt); used.After(t.LastUsedAt) {
			uses.Tokens[t.ID] = used
		}
	}
	if len(dir.SignIns)+len(dir.Tokens) == 0 {
		return nil
	}
	if len(uses.SignIns)+len(uses.Tokens) > 0 {
		if err := s.Store.RecordUse(ctx, &uses); err != nil {
			return err
		}
	}
	return s.reload(ctx)
}

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
	return s.changePerson(ctx, &person, caller)
}
