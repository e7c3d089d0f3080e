package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hookback/hookback/server/internal/flows"
	"github.com/hookback/hookback/server/internal/store"
)

// providerFlow is a pending sign-in: a browser that was redirected to the provider.
type providerFlow struct{ Nonce, Verifier string }

const flowLifetime = 10 * time.Minute

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
	c := store.PeopleChange{People: store.People{Persons: []store.Person{person}}}
	record := store.LedgerRecord{Action: "person.made", Actor: "hub", Data: map[string]any{"name": person.Name, "role": person.Role, "way": "oidc"}}
	old := s.current.Load().findPerson(person.Name)
	if old != nil {
		record.Action = "person.changed"
	}
	if old == nil || old.Role != person.Role || old.Subject != person.Subject {
		c.LedgerRecords = []store.LedgerRecord{record}
	}
	return s.newCode(ctx, store.Code{Person: person.Name, Method: "oidc"}, &c)
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
