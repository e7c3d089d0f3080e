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

	defaultTokenLife = 90 * 24 * time.Hour  // of a person's token
	maxTokenLife     = 366 * 24 * time.Hour // of a person's token: a year, also a leap year
)

// Tokens returns the caller's own tokens, or all of them for an admin.
func (s *Service) Tokens(caller Identity) ([]schema.Token, error) {
	if err := s.Check(schema.AccessOwn, caller); err != nil {
		return nil, err
	}
	list := []schema.Token{}
	dir := s.current.Load()
	for i := range dir.Tokens {
		if t := &dir.Tokens[i]; t.Person == caller.Name || caller.HasRole(schema.Admin) {
			list = append(list, s.publicToken(t))
		}
	}
	return list, nil
}

func (s *Service) publicToken(t *store.Token) schema.Token {
	return schema.Token{
		ID: t.ID, Name: t.Name, Prefix: t.Prefix, Person: t.Person, Apps: t.Apps, CreatedAt: toMillis(t.CreatedAt),
		LastUsedAt: toMillis(s.lastUsed(t.ID, t.LastUsedAt)), ExpiresAt: toMillis(t.ExpiresAt),
	}
}

// CreateToken creates a token and returns its secret this one time. People create
// tokens for themselves, and admins create tokens of agents. Both take a signed-in browser.
func (s *Service) CreateToken(ctx context.Context, d schema.TokenDraft, caller Identity) (schema.Token, error) {
	if err := s.Check(schema.AccessOwn, caller); err != nil {
		return schema.Token{}, err
	}
	if caller.Paired {
		return schema.Token{}, errNoFullSession
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	t, err := s.buildToken(&d)
	if err != nil {
		return schema.Token{}, err
	}
	switch {
	case t.Person == "":
		if err := s.Check(schema.AccessAdmin, caller); err != nil {
			return schema.Token{}, err
		}
	case t.Person != caller.Name:
		return schema.Token{}, &schema.HintError{Err: schema.ErrNotAllowed, Hint: "A token acts as its person, so " + t.Person + " has to create it."}
	}
	prefix := AgentPrefix
	if t.Person != "" {
		prefix = OperatorPrefix
	}
	secret := newToken(prefix)
	hash := digestOf(secret)
	t.ID, t.Hash, t.Prefix = newID("t_"), hash[:], secret[:len(prefix)+tokenHintChars]
	record := ledgerRecord("token.made", caller, map[string]any{
		"token": t.ID, "name": t.Name, "person": t.Person, "apps": t.Apps, "expiresAt": toMillis(t.ExpiresAt),
	})
	if err := s.applyChange(ctx, &store.PeopleChange{People: store.People{Tokens: []store.Token{t}}}, record); err != nil {
		return schema.Token{}, err
	}
	public := s.publicToken(&t)
	public.Secret = secret
	return public, nil
}

// buildToken validates a draft and returns the token without its secret.
func (s *Service) buildToken(d *schema.TokenDraft) (store.Token, error) {
	now := s.Clock()
	t := store.Token{Name: strings.Join(strings.Fields(d.Name), " "), Apps: d.Apps, CreatedAt: now}
	invalid := func(field, detail string) (store.Token, error) {
		return t, &schema.FieldError{Field: field, Detail: detail}
	}
	switch {
	case len(s.current.Load().Tokens) >= maxTokens:
		return invalid("", "would make more than 1000 tokens; revoke old ones")
	case t.Name == "" || len(t.Name) > maxName || sanitize(t.Name, maxName) != t.Name:
		return invalid("name", "is required: at most 64 bytes of visible characters")
	case d.ExpiresAt != 0 && !time.UnixMilli(int64(d.ExpiresAt)).After(now):
		return invalid("expiresAt", "must be in the future")
	case d.Person != "" && time.UnixMilli(int64(d.ExpiresAt)).After(now.Add(maxTokenLife)):
		return invalid("expiresAt", "must be at most one year ahead for the token of a person")
	case d.Person != "" && len(d.Apps) > 0:
		return invalid("apps", "are for agents' tokens only: a person's token has all permissions of that person")
	case len(d.Apps) > maxApps:
		return invalid("apps", "must have at most 50 names")
	}
	for _, app := range d.Apps {
		if _, err := path.Match(app, ""); err != nil || app == "" || len(app) > 200 {
			return invalid("apps", "must be application names; * matches any characters")
		}
	}
	if d.ExpiresAt != 0 {
		t.ExpiresAt = time.UnixMilli(int64(d.ExpiresAt))
	}
	if d.Person != "" {
		person := s.current.Load().findPerson(d.Person)
		if person == nil {
			return invalid("person", "is not a person on this hub")
		}
		t.Person = person.Name
		if t.ExpiresAt.IsZero() {
			t.ExpiresAt = now.Add(defaultTokenLife)
		}
	}
	return t, nil
}

// RevokeToken revokes a token of the caller, or any token if the caller is an admin.
func (s *Service) RevokeToken(ctx context.Context, id string, caller Identity) error {
	if err := s.Check(schema.AccessOwn, caller); err != nil {
		return err
	}
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	dir := s.current.Load()
	i := slices.IndexFunc(dir.Tokens, func(t store.Token) bool {
		return t.ID == id && (t.Person == caller.Name || caller.HasRole(schema.Admin))
	})
	if i < 0 {
		return &schema.HintError{Err: schema.ErrNotFound, Hint: "You have no token with this id."}
	}
	return s.applyChange(ctx, &store.PeopleChange{RemovedTokens: []string{id}},
		ledgerRecord("token.revoked", caller, map[string]any{"token": id, "name": dir.Tokens[i].Name}))
}
