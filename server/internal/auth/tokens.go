package auth

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	maxTokens = 1000
	maxApps   = 50
)

// Tokens are the caller's own, and all for an admin.
func (p *Service) Tokens(by Identity) ([]schema.Token, error) {
	if err := isPerson(by); err != nil {
		return nil, err
	}
	list := []schema.Token{}
	now := p.now.Load()
	for i := range now.Tokens {
		if t := &now.Tokens[i]; t.Person == by.Name || by.Is(schema.Admin) {
			list = append(list, p.shownToken(t))
		}
	}
	return list, nil
}

func (p *Service) shownToken(t *store.Token) schema.Token {
	return schema.Token{
		ID: t.ID, Name: t.Name, Prefix: t.Prefix, Person: t.Person, Apps: t.Apps, CreatedAt: millis(t.CreatedAt),
		LastUsedAt: millis(p.lastUsed(t.ID, t.LastUsedAt)), ExpiresAt: millis(t.ExpiresAt),
	}
}

// CreateToken makes a credential for programs, and shows it this once. For oneself every
// operator may; for others, and for agents, it takes an admin.
func (p *Service) CreateToken(ctx context.Context, d schema.TokenDraft, by Identity) (schema.Token, error) {
	if err := isPerson(by); err != nil {
		return schema.Token{}, err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	t, err := p.draftToken(&d)
	if err != nil {
		return schema.Token{}, err
	}
	if t.Person != "" && t.Person == by.Name {
		err = p.may(by, schema.Operator)
	} else {
		err = p.manages(by)
	}
	if err != nil {
		return schema.Token{}, err
	}
	prefix := AgentPrefix
	if t.Person != "" {
		prefix = OperatorPrefix
	}
	secret := newToken(prefix)
	hash := digestOf(secret)
	t.ID, t.Hash, t.Prefix = "t_"+newSecret(12, idChars), hash[:], secret[:len(prefix)+shownChars]
	err = p.change(ctx, &store.PeopleChange{
		People: store.People{Tokens: []store.Token{t}},
		Acts:   []store.LedgerRecord{act("token.made", by, map[string]any{"token": t.ID, "name": t.Name, "person": t.Person, "apps": t.Apps, "expiresAt": millis(t.ExpiresAt)})},
	})
	if err != nil {
		return schema.Token{}, err
	}
	made := p.shownToken(&t)
	made.Secret = secret
	return made, nil
}

// draftToken checks what a token is to be.
func (p *Service) draftToken(d *schema.TokenDraft) (store.Token, error) {
	now := p.Clock()
	t := store.Token{Name: strings.Join(strings.Fields(d.Name), " "), Apps: d.Apps, CreatedAt: now}
	wrong := func(field, detail string) (store.Token, error) {
		return t, &schema.FieldError{Field: field, Detail: detail}
	}
	switch {
	case len(p.now.Load().Tokens) >= maxTokens:
		return wrong("", "would make more than 1000 tokens: revoke old ones")
	case t.Name == "" || len(t.Name) > maxName || printable(t.Name, maxName) != t.Name:
		return wrong("name", "is needed, in ordinary signs and at most 64 bytes: it tells tokens apart")
	case d.ExpiresAt != 0 && !time.UnixMilli(int64(d.ExpiresAt)).After(now):
		return wrong("expiresAt", "must be in the future")
	case d.Person != "" && len(d.Apps) > 0:
		return wrong("apps", "are for agents' tokens: a person's may all that the person may")
	case len(d.Apps) > maxApps:
		return wrong("apps", "may have 50 names")
	}
	for _, app := range d.Apps {
		if _, err := path.Match(app, ""); err != nil || app == "" || len(app) > 200 {
			return wrong("apps", "must be names of applications, * for any characters")
		}
	}
	if d.ExpiresAt != 0 {
		t.ExpiresAt = time.UnixMilli(int64(d.ExpiresAt))
	}
	if d.Person != "" {
		o := p.now.Load().person(d.Person)
		if o == nil {
			return wrong("person", "is nobody here")
		}
		t.Person = o.Name
	}
	return t, nil
}

// RevokeToken ends one's own token, or for an admin any.
func (p *Service) RevokeToken(ctx context.Context, id string, by Identity) error {
	if err := isPerson(by); err != nil {
		return err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	now := p.now.Load()
	i := slices.IndexFunc(now.Tokens, func(t store.Token) bool {
		return t.ID == id && (t.Person == by.Name || by.Is(schema.Admin))
	})
	if i < 0 {
		return &schema.HintError{Err: schema.ErrNotFound, Hint: "There is no such token of yours."}
	}
	return p.change(ctx, &store.PeopleChange{
		WithoutToken: []string{id},
		Acts:         []store.LedgerRecord{act("token.revoked", by, map[string]any{"token": id, "name": now.Tokens[i].Name})},
	})
}
