package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/netip"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Credentials are the parts of a request that identify its sender.
type Credentials struct {
	Authorization string // the value of the header
	Cookie, Key   string // session cookie and page key of a signed-in browser
	From          netip.Addr
	Proxy         string // the name given by a trusted proxy; empty for any other peer
	// ChangesState is set if the request changes state. The cookie alone is then not
	// enough (CSRF protection): browsers send it along from every port of a host.
	ChangesState bool
}

// ErrSessionExpired reports a cookie whose session has ended. It comes joined with
// schema.ErrSignIn.
var ErrSessionExpired = errors.New("this session has ended")

// signInError returns a schema.ErrSignIn with its cause and a hint.
func signInError(because error, hint string) error {
	return &schema.HintError{Err: errors.Join(schema.ErrSignIn, because), Hint: hint}
}

var (
	errInvalidToken = &schema.HintError{Err: schema.ErrSignIn, Hint: "This token is invalid, expired or revoked. Create a new one under Team, Tokens."}
	errNotHubToken  = &schema.HintError{Err: schema.ErrSignIn, Hint: "The Authorization header contains no hub token. Hub tokens start with " + OperatorPrefix + " or " + AgentPrefix + "."}
	errNoPageKey    = &schema.HintError{Err: schema.ErrSignIn, Hint: "The page key is missing: a cookie alone changes nothing. Reload the page, or sign in again."}
	errNoCookie     = &schema.HintError{Err: schema.ErrSignIn, Hint: "The session cookie is missing. Sign in again."}
	errKeyMismatch  = &schema.HintError{Err: schema.ErrSignIn, Hint: "The page key does not match this browser's session. Sign in again."}
)

// Authenticate returns the identity behind a request, or the zero Identity if the request
// carries no credentials. Credentials that are wrong, expired or revoked are a
// schema.ErrSignIn; they are never treated as unauthenticated.
func (s *Service) Authenticate(c Credentials) (Identity, error) {
	if s == nil {
		return Identity{}, nil
	}
	if s.isStale.Load() && (c.Authorization != "" || c.Cookie != "" || c.Key != "" || c.Proxy != "") {
		return Identity{}, errStale
	}
	if c.Authorization != "" {
		scheme, token, _ := strings.Cut(c.Authorization, " ")
		token = strings.TrimSpace(token)
		switch {
		case !strings.EqualFold(scheme, "Bearer"):
			if c.Proxy == "" {
				return Identity{}, errNotHubToken
			}
		case strings.HasPrefix(token, OperatorPrefix), strings.HasPrefix(token, AgentPrefix):
			id, err := s.authenticateToken(token)
			if err != nil && s.signInLimiter.count(refusedTokens, c.From, s.Clock()) == 1 {
				s.appendLedger(context.Background(), ledgerRecord("token.refused", Identity{}, map[string]any{"from": c.From.String()}))
			}
			return id, err
		case c.Proxy == "":
			return Identity{}, errNotHubToken
		}
	}
	switch {
	case c.Cookie != "":
		return s.authenticateCookie(&c)
	case c.Key != "":
		return Identity{}, errNoCookie
	case c.Proxy != "":
		return s.proxyIdentity(c.Proxy), nil
	default:
		return Identity{}, nil
	}
}

// CheckSignedIn checks that the cookie is a valid sign-in of the person with a role that may answer.
func (s *Service) CheckSignedIn(cookie, person string) error {
	id, err := s.Authenticate(Credentials{Cookie: cookie})
	if err == nil && (id.Name != person || !id.HasRole(schema.Operator)) {
		return signInError(errNoCookie, "This button works only while "+person+" is signed in in this browser.")
	}
	return err
}

func (s *Service) authenticateToken(token string) (Identity, error) {
	if !isToken(token) {
		return Identity{}, errInvalidToken
	}
	hash := digestOf(token)
	if s.current.Load().tokens[hash] == nil {
		s.refresh()
	}
	dir := s.current.Load()
	t := dir.tokens[hash]
	if t == nil || s.isExpired(t.ExpiresAt) {
		return Identity{}, errInvalidToken
	}
	id := Identity{Name: t.Name, Agent: true, Apps: t.Apps}
	if t.Person != "" {
		person := dir.findPerson(t.Person)
		if person == nil {
			return Identity{}, errInvalidToken
		}
		id = Identity{Name: person.Name, Role: person.Role, Owner: person.Owner}
	}
	id.Via, id.ID = "token", t.ID
	s.recordUse(t.ID)
	return id, nil
}

func (s *Service) authenticateCookie(c *Credentials) (Identity, error) {
	hash := digestOf(c.Cookie)
	if s.current.Load().signIns[hash] == nil {
		s.refresh()
	}
	dir := s.current.Load()
	session := dir.signIns[hash]
	if session == nil || s.isExpired(s.sessionExpiry(session)) {
		return Identity{}, signInError(ErrSessionExpired, "This session has ended. Sign in again.")
	}
	person := dir.findPerson(session.Person)
	if person == nil {
		return Identity{}, signInError(ErrSessionExpired, "This session has ended. Sign in again.")
	}
	if c.Key == "" && c.ChangesState {
		return Identity{}, errNoPageKey
	}
	key := digestOf(c.Key)
	if c.Key != "" && subtle.ConstantTimeCompare(key[:], session.Key) != 1 {
		return Identity{}, errKeyMismatch
	}
	s.recordUse(session.ID)
	return sessionIdentity(person, session), nil
}

// proxyIdentity returns the account that the proxy names, by name or by e-mail address. A
// name without an account is a viewer.
func (s *Service) proxyIdentity(name string) Identity {
	dir := s.current.Load()
	if person := dir.findPerson(name); person != nil {
		return s.proxyPerson(person)
	}
	for i := range dir.Persons {
		if person := &dir.Persons[i]; person.Email != "" && strings.EqualFold(person.Email, name) {
			return s.proxyPerson(person)
		}
	}
	return Identity{Name: name, Role: schema.Viewer, Via: "proxy"}
}

// proxyPerson returns the identity of an account that the proxy names. Its first request counts as
// the person's first sign-in, so that from then on no one else creates a link for them.
func (s *Service) proxyPerson(person *store.Person) Identity {
	if !person.SignedIn && !person.Owner { // an owner's first session locks the hub
		if err := s.markSignedIn(person.Name); err != nil {
			s.Log.Error("first sign-in through the proxy not stored", "person", person.Name, "err", err)
		}
	}
	return Identity{Name: person.Name, Role: person.Role, Owner: person.Owner, Via: "proxy"}
}

func (s *Service) markSignedIn(name string) error {
	s.changeMu.Lock()
	defer s.changeMu.Unlock()
	person, err := s.lookup(name)
	if err != nil || person.SignedIn {
		return err
	}
	person.SignedIn = true
	return s.applyChange(context.Background(), &store.PeopleChange{People: store.People{Persons: []store.Person{person}}})
}

// methodPair is the sign-in method of paired devices.
const methodPair = "pair"

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
