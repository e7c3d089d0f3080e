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
	"github.com/hookback/hookback/server/internal/store"
)

// OIDC is an OpenID provider that people sign in with. What it says of somebody is
// turned into a one-time sign-in link of the hub's own, so that a browser signs in one
// way only.
type OIDC struct {
	Issuer, ClientID, ClientSecret string
	// CallbackURL is where the provider sends people back to: schema.PathOIDCCallback at the
	// address that browsers know the hub by.
	CallbackURL string
	// Groups is the claim that names somebody's groups, Roles what they may: the
	// highest counts, anew at each sign-in. Without Roles a new person is a viewer.
	Groups string                 // default groups
	Roles  map[string]schema.Role // :: group → role

	mu       sync.Mutex
	provider *oidc.Provider  // nil until the issuer was reached
	flows    map[string]flow // :: state → a sign-in under way
}

// flow is a browser that was sent to the provider.
type flow struct {
	browser  digest // of the cookie that came with it
	nonce    string
	verifier string
	until    time.Time
}

const (
	flowFor     = 10 * time.Minute
	maxFlows    = 1000
	reachWithin = 10 * time.Second
)

// AuthRedirect is the way of one browser to the provider.
type AuthRedirect struct {
	URL    string // of the provider's page
	Cookie string // the browser shows it when it comes back
	Until  time.Time
}

// The ways a sign-in with a provider can fail, which the page has words for.
var (
	ErrProviderDown = errors.New("the provider can't be reached")
	ErrRefused      = errors.New("the provider did not let you in")
	ErrFlowExpired  = errors.New("this sign-in was not begun in this browser, or took too long")
	ErrNoUsableName = errors.New("the provider does not say what to call you")
)

// StartProviderSignIn begins a sign-in with the provider.
func (p *Service) StartProviderSignIn(ctx context.Context) (*AuthRedirect, error) {
	o := p.OIDC
	client, _, err := o.reach(ctx)
	if err != nil {
		p.Log.Warn("the OpenID provider can't be reached", "issuer", o.Issuer, "err", err)
		return nil, ErrProviderDown
	}
	way := &AuthRedirect{Cookie: newSecret(codeBytes, codeChars), Until: p.Clock().Add(flowFor)}
	state := newSecret(codeBytes, codeChars)
	f := flow{browser: digestOf(way.Cookie), nonce: newSecret(codeBytes, codeChars), verifier: oauth2.GenerateVerifier(), until: way.Until}
	o.remember(state, f, p.Clock())
	way.URL = client.AuthCodeURL(state, oidc.Nonce(f.nonce), oauth2.S256ChallengeOption(f.verifier))
	return way, nil
}

// reach asks the issuer once where its endpoints are.
func (o *OIDC) reach(ctx context.Context) (*oauth2.Config, *oidc.IDTokenVerifier, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.provider == nil {
		ctx, cancel := context.WithTimeout(ctx, reachWithin)
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

// remember keeps a flow, and no more than maxFlows of them: the oldest go.
func (o *OIDC) remember(state string, f flow, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.flows == nil {
		o.flows = map[string]flow{}
	}
	oldest := ""
	for other, old := range o.flows {
		if now.After(old.until) {
			delete(o.flows, other)
		} else if oldest == "" || old.until.Before(o.flows[oldest].until) {
			oldest = other
		}
	}
	if len(o.flows) >= maxFlows {
		delete(o.flows, oldest)
	}
	o.flows[state] = f
}

// take takes a flow out, once.
func (o *OIDC) take(state, cookie string, now time.Time) (flow, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok := o.flows[state]
	if !ok || f.browser != digestOf(cookie) || now.After(f.until) {
		return flow{}, false
	}
	delete(o.flows, state)
	return f, true
}

// AuthCallback is what a browser brings back from the provider.
type AuthCallback struct{ State, Code, Cookie string }

// FinishProviderSignIn ends a sign-in with the provider: it returns a one-time code to sign in
// with. Errors are the four above; what is behind them is logged.
func (p *Service) FinishProviderSignIn(ctx context.Context, r AuthCallback) (code string, err error) {
	f, ok := p.OIDC.take(r.State, r.Cookie, p.Clock())
	if !ok {
		return "", ErrFlowExpired
	}
	client, verifier, err := p.OIDC.reach(ctx)
	if err != nil {
		return "", ErrProviderDown
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	token, err := client.Exchange(ctx, r.Code, oauth2.VerifierOption(f.verifier))
	if err != nil {
		p.Log.Warn("the OpenID provider did not take a code back", "err", refusalOf(err))
		return "", ErrRefused
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := verifier.Verify(ctx, raw)
	if err != nil || id.Nonce != f.nonce {
		p.Log.Warn("the OpenID provider's word is not to be believed", "err", err)
		return "", ErrRefused
	}
	said, err := p.OIDC.claims(ctx, id, client.TokenSource(ctx, token))
	if err != nil {
		p.Log.Warn("the OpenID provider does not tell who it is", "err", err)
		return "", ErrRefused
	}
	return p.codeFor(ctx, p.OIDC.understood(said))
}

// refusalOf is what a provider says of an exchange, without what was exchanged.
func refusalOf(err error) string {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) {
		return answer.ErrorCode
	}
	return "no answer"
}

// claimed is what the provider says of a person.
type claimed struct {
	subject string // issuer and sub: nobody else's, for ever
	names   []string
	email   string // verified; empty: none is
	role    schema.Role
	grouped bool // role is by their groups
}

// claims are what the provider says of somebody. Some tell more than an id only when
// they are asked once more.
func (o *OIDC) claims(ctx context.Context, id *oidc.IDToken, with oauth2.TokenSource) (map[string]any, error) {
	var all map[string]any
	if err := id.Claims(&all); err != nil {
		return nil, err
	}
	named := slices.ContainsFunc(names, func(name string) bool { return all[name] != nil })
	if named && (len(o.Roles) == 0 || all[o.groups()] != nil) {
		return all, nil
	}
	// Without it, what the token says is enough for whom the hub knows already.
	if more, err := o.provider.UserInfo(ctx, with); err == nil && more.Subject == id.Subject {
		var rest map[string]any
		if err := more.Claims(&rest); err != nil {
			return nil, err
		}
		maps.Copy(rest, all)
		all = rest
	}
	return all, nil
}

// names are the claims by which somebody can be called, the best first.
var names = []string{"preferred_username", "name", "email"}

func (o *OIDC) groups() string { return cmp.Or(o.Groups, "groups") }

func (o *OIDC) understood(said map[string]any) *claimed {
	issuer, _ := said["iss"].(string)
	subject, _ := said["sub"].(string)
	c := &claimed{subject: issuer + " " + subject, role: schema.Viewer, grouped: len(o.Roles) > 0}
	if said["email_verified"] == true || said["email_verified"] == "true" { // some providers say it so
		c.email, _ = said["email"].(string)
	}
	for _, name := range names {
		if text, ok := said[name].(string); ok && (name != "email" || c.email != "") {
			c.names = append(c.names, text)
		}
	}
	for _, group := range texts(said[o.groups()]) {
		if role, ok := o.Roles[group]; ok && slices.Index(order, role) > slices.Index(order, c.role) {
			c.role = role
		}
	}
	return c
}

// texts are the strings of a claim that is one or a list of them.
func texts(claim any) (all []string) {
	switch v := claim.(type) {
	case string:
		return strings.Fields(v)
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}

// codeFor is a one-time code for the person whom the provider names: the one it named
// before, else the one whom an admin gave that e-mail address, else a new one.
func (p *Service) codeFor(ctx context.Context, c *claimed) (string, error) {
	p.changing.Lock()
	defer p.changing.Unlock()
	one, err := p.claimant(c)
	if err != nil {
		return "", err
	}
	one.Subject = c.subject
	if c.grouped && !one.Owner {
		one.Role = c.role
	}
	change := &store.PeopleChange{People: store.People{Persons: []store.Person{one}}}
	if kind := p.becomes(&one); kind != "" {
		change.Acts = []store.LedgerRecord{{Action: kind, Actor: "hub", Data: map[string]any{"name": one.Name, "role": one.Role, "way": "oidc"}}}
	}
	return p.newCode(ctx, store.Code{Person: one.Name, Way: "oidc"}, change)
}

// becomes is what the ledger calls it when somebody is known as this from now on; empty:
// they were.
func (p *Service) becomes(one *store.Person) string {
	switch old := p.now.Load().person(one.Name); {
	case old == nil:
		return "person.made"
	case old.Role != one.Role || old.Subject != one.Subject:
		return "person.changed"
	default:
		return ""
	}
}

func (p *Service) claimant(c *claimed) (store.Person, error) {
	persons := p.now.Load().Persons
	for _, is := range []func(store.Person) bool{
		func(o store.Person) bool { return o.Subject == c.subject },
		func(o store.Person) bool {
			return o.Subject == "" && c.email != "" && strings.EqualFold(o.Email, c.email)
		},
	} {
		if i := slices.IndexFunc(persons, is); i >= 0 {
			return persons[i], nil
		}
	}
	for _, name := range c.names {
		if name, err := p.newName(name); err == nil {
			return store.Person{Name: name, Role: c.role, Email: c.email, CreatedAt: p.Clock()}, nil
		}
	}
	return store.Person{}, fmt.Errorf("%w: %q are taken, or no names", ErrNoUsableName, c.names)
}

// HasProvider reports whether people can sign in with an OpenID provider.
func (p *Service) HasProvider() bool { return p != nil && p.OIDC != nil }
