package auth

import (
	"cmp"
	"context"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// maxPersons bounds a hub's people: they are kept in memory.
const maxPersons = 1000

// act is an entry of the ledger about somebody. No secret belongs in more.
func act(kind string, by Identity, more map[string]any) store.LedgerRecord {
	return store.LedgerRecord{Action: kind, Actor: cmp.Or(by.Name, LocalName), Data: more}
}

// AddPerson makes a person known, and a link that signs them in.
func (p *Service) AddPerson(ctx context.Context, d schema.PersonDraft, by Identity) (person schema.Person, code string, err error) {
	if err := p.manages(by); err != nil {
		return person, "", err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	now := p.now.Load()
	if len(now.Persons) >= maxPersons {
		return person, "", &schema.FieldError{Detail: "would make more than 1000 people"}
	}
	o := store.Person{Role: schema.Operator, CreatedAt: p.Clock()}
	if o.Name, err = p.newName(d.Name); err != nil {
		return person, "", err
	}
	if err := p.amend(&o, d); err != nil {
		return person, "", err
	}
	c := store.PeopleChange{
		People: store.People{Persons: []store.Person{o}},
		Acts:   []store.LedgerRecord{act("person.made", by, map[string]any{"name": o.Name, "role": o.Role})},
	}
	if code, err = p.newCode(ctx, store.Code{Person: o.Name, Way: "link"}, &c); err != nil {
		return person, "", err
	}
	return p.shown(&o), code, nil
}

// amend gives a person what d says of role and address.
func (p *Service) amend(o *store.Person, d schema.PersonDraft) error {
	if d.Role != "" {
		if !slices.Contains(order, d.Role) {
			return &schema.FieldError{Field: "role", Detail: "must be one of viewer, operator, admin"}
		}
		o.Role = d.Role
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
	for i := range p.now.Load().Persons {
		// A proxy may know people by it: two with one address would be one.
		if other := &p.now.Load().Persons[i]; email != "" && other.Name != o.Name && strings.EqualFold(other.Email, email) {
			return &schema.FieldError{Field: "email", Detail: "is another person's already"}
		}
	}
	o.Email = email
	return nil
}

// found is the person of that name, as a copy.
func (p *Service) found(name string) (store.Person, error) {
	o := p.now.Load().person(name)
	if o == nil {
		return store.Person{}, &schema.HintError{Err: schema.ErrNotFound, Hint: "Nobody here goes by this name."}
	}
	return *o, nil
}

// ChangePerson gives a person another role or address. What is open in their name goes
// on with the new role: it is looked up with each request.
func (p *Service) ChangePerson(ctx context.Context, name string, d schema.PersonDraft, by Identity) (schema.Person, error) {
	if err := p.manages(by); err != nil {
		return schema.Person{}, err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	o, err := p.found(name)
	if err != nil {
		return schema.Person{}, err
	}
	if err := p.amend(&o, d); err != nil {
		return schema.Person{}, err
	}
	if o.Owner && o.Role != schema.Admin {
		return schema.Person{}, &schema.FieldError{Field: "role", Detail: "of the owner must stay admin"}
	}
	err = p.change(ctx, &store.PeopleChange{
		People: store.People{Persons: []store.Person{o}},
		Acts:   []store.LedgerRecord{act("person.changed", by, map[string]any{"name": o.Name, "role": o.Role})},
	})
	return p.shown(&o), err
}

// Link makes a code that signs a person in, once; earlier ones are void. Everybody may
// make one for themselves: it lets nobody do more than they can.
func (p *Service) Link(ctx context.Context, name string, by Identity) (person schema.Person, code string, err error) {
	own := by.Known() && !by.Agent && strings.EqualFold(by.Name, name)
	if err := p.manages(by); err != nil && !own {
		return person, "", err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	o, err := p.found(name)
	if err != nil {
		return person, "", err
	}
	code, err = p.newCode(ctx, store.Code{Person: o.Name, Way: "link"}, &store.PeopleChange{Acts: []store.LedgerRecord{act("person.link_made", by, map[string]any{"name": o.Name})}})
	return p.shown(&o), code, err
}

// RemovePerson forgets a person, and ends their sign-ins and tokens.
func (p *Service) RemovePerson(ctx context.Context, name string, by Identity) error {
	if err := p.manages(by); err != nil {
		return err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	o, err := p.found(name)
	if err != nil {
		return err
	}
	if o.Owner {
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "The owner stays: without one, whoever comes next could take the hub."}
	}
	c := store.PeopleChange{WithoutPerson: []string{o.Name}, Acts: []store.LedgerRecord{act("person.removed", by, map[string]any{"name": o.Name})}}
	now := p.now.Load()
	for _, in := range now.SignIns {
		if in.Person == o.Name {
			c.WithoutSignIn = append(c.WithoutSignIn, in.ID)
		}
	}
	for _, t := range now.Tokens {
		if t.Person == o.Name {
			c.WithoutToken = append(c.WithoutToken, t.ID)
		}
	}
	for _, code := range now.Codes {
		if code.Person == o.Name {
			c.WithoutCode = append(c.WithoutCode, code.Hash)
		}
	}
	for _, k := range now.passkeysOf(o.Name) {
		c.WithoutPasskey = append(c.WithoutPasskey, k.ID)
	}
	return p.change(ctx, &c)
}

// List is everybody; the addresses are for admins and for oneself.
func (p *Service) List(ctx context.Context, by Identity) []schema.Person {
	all := p.Accounts(ctx)
	for i := range all {
		if by.Is(schema.Admin) && by.Known() || by.Known() && !by.Agent && by.Name == all[i].Name {
			continue
		}
		all[i].Email = ""
	}
	if all == nil {
		all = []schema.Person{}
	}
	return all
}

// SignIns are the caller's own, and everybody's for an admin.
func (p *Service) SignIns(by Identity) ([]schema.SignIn, error) {
	if err := isPerson(by); err != nil {
		return nil, err
	}
	list := []schema.SignIn{}
	now := p.now.Load()
	for i := range now.SignIns {
		in := &now.SignIns[i]
		if in.Person != by.Name && !by.Is(schema.Admin) || p.over(p.end(in)) {
			continue
		}
		list = append(list, schema.SignIn{
			ID: in.ID, Person: in.Person, UserAgent: in.UserAgent, Way: in.Way, CreatedAt: millis(in.CreatedAt),
			LastSeenAt: millis(p.lastUsed(in.ID, in.LastSeenAt)), ExpiresAt: millis(p.end(in)), Current: in.ID == by.ID,
		})
	}
	slices.SortFunc(list, func(a, b schema.SignIn) int { return cmp.Compare(b.LastSeenAt, a.LastSeenAt) })
	return list, nil
}

// isPerson is nil for somebody whom the hub knows.
func isPerson(by Identity) error {
	switch {
	case by.Agent:
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "That is for people."}
	case !by.Known():
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "Sign in first."}
	default:
		return nil
	}
}

// EndSignIn revokes one's own sign-in, or for an admin anybody's.
func (p *Service) EndSignIn(ctx context.Context, id string, by Identity) error {
	if err := isPerson(by); err != nil {
		return err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	for _, in := range p.now.Load().SignIns {
		if in.ID != id || in.Person != by.Name && !by.Is(schema.Admin) {
			continue
		}
		return p.change(ctx, &store.PeopleChange{
			WithoutSignIn: []string{id},
			Acts:          []store.LedgerRecord{act("person.signed_out", by, map[string]any{"name": in.Person, "signIn": id})},
		})
	}
	return &schema.HintError{Err: schema.ErrNotFound, Hint: "There is no such sign-in of yours."}
}

// Run notes now and then when people and tokens were seen last, and ends what stays
// open for a sign-in or token that has expired, until ctx ends.
func (p *Service) Run(ctx context.Context) error {
	expiring, noting := time.NewTicker(time.Second/2), time.NewTicker(time.Minute)
	defer expiring.Stop()
	defer noting.Stop()
	for {
		select {
		case <-ctx.Done():
			return p.noteUse(context.WithoutCancel(ctx))
		case <-expiring.C:
			p.expire()
		case <-noting.C:
			if err := p.noteUse(ctx); err != nil && ctx.Err() == nil {
				p.Log.Error("noting when people were seen", "err", err)
			}
		}
	}
}

// noteUse stores when sign-ins and tokens were used last.
func (p *Service) noteUse(ctx context.Context) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	now := p.now.Load()
	var c store.PeopleChange
	for _, in := range now.SignIns {
		if used := p.lastUsed(in.ID, in.LastSeenAt); used.After(in.LastSeenAt) {
			in.LastSeenAt = used
			c.SignIns = append(c.SignIns, in)
		}
	}
	for _, t := range now.Tokens {
		if used := p.lastUsed(t.ID, t.LastUsedAt); used.After(t.LastUsedAt) {
			t.LastUsedAt = used
			c.Tokens = append(c.Tokens, t)
		}
	}
	if c.SignIns == nil && c.Tokens == nil {
		return nil
	}
	return p.change(ctx, &c)
}
