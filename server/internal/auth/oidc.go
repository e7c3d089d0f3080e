package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/store"
)

// OIDC is an OpenID provider that people sign in with. A successful sign-in there yields a
// one-time code of the hub, so that browsers create sessions in one way only.
type OIDC struct {
	Issuer, ClientID, ClientSecret string
	// CallbackURL is where the provider redirects browsers: schema.PathOIDCCallback at the
	// hub's address as browsers see it.
	CallbackURL string
	// Groups is the claim with a person's groups. Roles maps groups to roles; the highest
	// role applies and is updated at each sign-in. Without Roles a new person is a viewer.
	Groups string                 // default "groups"
	Roles  map[string]schema.Role // group → role

	mu       sync.Mutex
	provider *oidc.Provider // nil until discovery has succeeded
}

// providerFlow is a pending sign-in: a browser that was redirected to the provider.
type providerFlow struct{ Nonce, Verifier string }

const (
	flowLifetime    = 10 * time.Minute
	providerTimeout = 10 * time.Second
)

// AuthRedirect sends one browser to the provider.
type AuthRedirect struct {
	URL    string // authorization URL of the provider
	Cookie string // to be set in the browser, which must return it with the callback
	Until  time.Time
}

// Errors of a sign-in with a provider. The dashboard has a text for each.
var (
	ErrProviderDown = errors.New("the provider cannot be reached")
	ErrRefused      = errors.New("the provider refused the sign-in")
	ErrFlowExpired  = errors.New("this sign-in was not started in this browser or took too long")
	ErrNoUsableName = errors.New("the provider sent no usable name")
)

// StartProviderSignIn starts an authorization code flow with PKCE.
func (s *Service) StartProviderSignIn(ctx context.Context) (*AuthRedirect, error) {
	o := s.OIDC
	client, _, err := o.discover(ctx)
	if err != nil {
		s.Log.Warn("openid provider unreachable", "issuer", o.Issuer, "err", err)
		return nil, ErrProviderDown
	}
	redirect := &AuthRedirect{Cookie: newSecret(codeBytes, codeChars), Until: s.Clock().Add(flowLifetime)}
	state := newSecret(codeBytes, codeChars)
	f := providerFlow{Nonce: newSecret(codeBytes, codeChars), Verifier: oauth2.GenerateVerifier()}
	redirect.URL = client.AuthCodeURL(state, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier))
	return redirect, s.flows.Put(ctx, providerKey(state, redirect.Cookie), f, redirect.Until)
}

// discover returns the client configuration and the token verifier. It fetches the
// provider's metadata until that has succeeded once.
func (o *OIDC) discover(ctx context.Context) (*oauth2.Config, *oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider == nil {
		ctx, cancel := context.WithTimeout(ctx, providerTimeout)
		defer cancel()
		provider, err := oidc.NewProvider(ctx, o.Issuer)
		if err != nil {
			return nil, nil, err
		}
		o.provider = provider
	}
	client := &oauth2.Config{
		ClientID: o.ClientID, ClientSecret: o.ClientSecret, RedirectURL: o.CallbackURL,
		Endpoint: o.provider.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
	return client, o.provider.VerifierContext(context.Background(), &oidc.Config{ClientID: o.ClientID}), nil
}

// providerKey finds a pending sign-in: only its browser, which has the cookie, can finish it.
func providerKey(state, cookie string) flows.Key {
	return flows.Key{Kind: flows.Kind{Name: "sign-in with a provider", Limit: 1000}, Secret: state + "." + cookie}
}

// AuthCallback holds the parameters of a redirect back from the provider, and the
// browser's cookie.
type AuthCallback struct{ State, Code, Cookie string }

// FinishProviderSignIn completes the flow and returns a one-time sign-in code. It returns
// one of the four errors above; the cause is logged.
func (s *Service) FinishProviderSignIn(ctx context.Context, callback AuthCallback) (code string, err error) {
	var f providerFlow
	ok, err := s.flows.Take(ctx, providerKey(callback.State, callback.Cookie), &f)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", ErrFlowExpired
	}
	client, verifier, err := s.OIDC.discover(ctx)
	if err != nil {
		return "", ErrProviderDown
	}
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	token, err := client.Exchange(ctx, callback.Code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		s.Log.Warn("openid code exchange failed", "err", exchangeErrorCode(err))
		return "", ErrRefused
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := verifier.Verify(ctx, raw)
	if err != nil || id.Nonce != f.Nonce {
		s.Log.Warn("openid token verification failed", "err", err)
		return "", ErrRefused
	}
	claims, err := s.OIDC.fetchClaims(ctx, id, client.TokenSource(ctx, token))
	if err != nil {
		s.Log.Warn("openid claims request failed", "err", err)
		return "", ErrRefused
	}
	return s.issueCode(ctx, s.OIDC.parseClaims(claims))
}

// exchangeErrorCode returns the OAuth error code of a failed exchange. The error's text
// may contain secrets.
func exchangeErrorCode(err error) string {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) {
		return answer.ErrorCode
	}
	return "no response"
}

// providerClaims are the relevant claims about a person.
type providerClaims struct {
	subject        string // issuer and sub, which together are unique and permanent
	names          []string
	email          string // only if verified
	role           schema.Role
	roleFromGroups bool // role was derived from groups and replaces the stored one
}

// fetchClaims returns the claims of the ID token. Some providers return names and groups
// only from the userinfo endpoint, which is queried if they are missing.
func (o *OIDC) fetchClaims(ctx context.Context, id *oidc.IDToken, tokens oauth2.TokenSource) (map[string]any, error) {
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return nil, err
	}
	named := slices.ContainsFunc(nameClaims, func(name string) bool { return claims[name] != nil })
	if named && (len(o.Roles) == 0 || claims[o.groupsClaim()] != nil) {
		return claims, nil
	}
	// If userinfo fails, the ID token is still enough for people who have an account.
	if info, err := o.provider.UserInfo(ctx, tokens); err == nil && info.Subject == id.Subject {
		var extra map[string]any
		if err := info.Claims(&extra); err != nil {
			return nil, err
		}
		maps.Copy(extra, claims)
		claims = extra
	}
	return claims, nil
}

// nameClaims are the claims that can serve as a name, the preferred one first.
var nameClaims = []string{"preferred_username", "name", "email"}

func (o *OIDC) groupsClaim() string { return cmp.Or(o.Groups, "groups") }

func (o *OIDC) parseClaims(claims map[string]any) *providerClaims {
	issuer, _ := claims["iss"].(string)
	subject, _ := claims["sub"].(string)
	parsed := &providerClaims{subject: issuer + " " + subject, role: schema.Viewer, roleFromGroups: len(o.Roles) > 0}
	if claims["email_verified"] == true || claims["email_verified"] == "true" { // some providers send a string
		parsed.email, _ = claims["email"].(string)
	}
	for _, name := range nameClaims {
		if text, ok := claims[name].(string); ok && (name != "email" || parsed.email != "") {
			parsed.names = append(parsed.names, text)
		}
	}
	for _, group := range claimStrings(claims[o.groupsClaim()]) {
		if role, ok := o.Roles[group]; ok && slices.Index(roleOrder, role) > slices.Index(roleOrder, parsed.role) {
			parsed.role = role
		}
	}
	return parsed
}

// claimStrings returns the strings of a claim that is a list or a space-separated string.
func claimStrings(claim any) (list []string) {
	switch v := claim.(type) {
	case string:
		return strings.Fields(v)
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list
}

// issueCode returns a one-time code for the account that the claims belong to: the one
// with that subject, else the one with that verified e-mail address, else a new one.
func (s *Service) issueCode(ctx context.Context, claims *providerClaims) (string, error) {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	s.refreshLocked(ctx)
	person, err := s.matchAccount(claims)
	if err != nil {
		return "", err
	}
	person.Subject = claims.subject
	if claims.roleFromGroups && !person.Owner {
		person.Role = claims.role
	}
	change := &store.PeopleChange{People: store.People{Persons: []store.Person{person}}}
	if kind := s.accountAction(&person); kind != "" {
		change.LedgerRecords = []store.LedgerRecord{{Action: kind, Actor: "hub", Data: map[string]any{"name": person.Name, "role": person.Role, "way": "oidc"}}}
	}
	return s.newCode(ctx, store.Code{Person: person.Name, Method: "oidc"}, change)
}

// accountAction returns the audit log action for storing person, or an empty string if
// nothing relevant changed.
func (s *Service) accountAction(person *store.Person) string {
	switch old := s.current.Load().findPerson(person.Name); {
	case old == nil:
		return "person.made"
	case old.Role != person.Role || old.Subject != person.Subject:
		return "person.changed"
	default:
		return ""
	}
}

func (s *Service) matchAccount(claims *providerClaims) (store.Person, error) {
	persons := s.current.Load().Persons
	for _, is := range []func(store.Person) bool{
		func(o store.Person) bool { return o.Subject == claims.subject },
		func(o store.Person) bool {
			return o.Subject == "" && claims.email != "" && strings.EqualFold(o.Email, claims.email)
		},
	} {
		if i := slices.IndexFunc(persons, is); i >= 0 {
			return persons[i], nil
		}
	}
	for _, name := range claims.names {
		if name, err := s.validateNewName(name); err == nil {
			return store.Person{Name: name, Role: claims.role, Email: claims.email, CreatedAt: s.Clock()}, nil
		}
	}
	return store.Person{}, fmt.Errorf("%w: %q are taken or invalid", ErrNoUsableName, claims.names)
}

// HasProvider reports whether people can sign in with an OpenID provider.
func (s *Service) HasProvider() bool { return s != nil && s.OIDC != nil }
