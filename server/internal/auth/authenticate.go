package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// A sign-in ends when its browser has not come for idle, and at lasts at the latest.
const (
	sessionIdleTimeout = 14 * 24 * time.Hour
	sessionMaxAge      = 90 * 24 * time.Hour
)

// Credentials is what a request shows of who is behind it.
type Credentials struct {
	Authorization string // the header
	Cookie, Key   string // of a browser that signed in
	From          netip.Addr
	Proxy         string // the name that a trusted proxy gives; never anybody else's word
	// ChangesState is set when the request is to change something. A cookie alone is not enough
	// then: browsers send it along from every port of a host.
	ChangesState bool
}

// ErrSessionExpired is a cookie of a sign-in that is over; it is a schema.ErrSignIn too.
var ErrSessionExpired = errors.New("this sign-in is over")

// signInError is a schema.ErrSignIn with what to do about it.
func signInError(because error, hint string) error {
	return &schema.HintError{Err: errors.Join(schema.ErrSignIn, because), Hint: hint}
}

var (
	errInvalidToken = &schema.HintError{Err: schema.ErrSignIn, Hint: "This token is wrong, expired or revoked. Make another one under Settings, People."}
	errNotHubToken  = &schema.HintError{Err: schema.ErrSignIn, Hint: "The Authorization header holds no token of a hub: they begin with " + OperatorPrefix + " or " + AgentPrefix + "."}
	errNoCookie     = &schema.HintError{Err: schema.ErrSignIn, Hint: "This browser's sign-in is gone: its cookie is missing. Sign in again."}
	errKeyMismatch  = &schema.HintError{Err: schema.ErrSignIn, Hint: "This page's key does not belong to this browser's sign-in. Sign in again."}
)

// Authenticate says who is behind a request, the zero Who when it shows nothing. What is
// wrong, expired or revoked is schema.ErrSignIn, never nobody.
func (s *Service) Authenticate(c Credentials) (Identity, error) {
	if s == nil {
		return Identity{}, nil
	}
	if scheme, token, ok := strings.Cut(c.Authorization, " "); ok && strings.EqualFold(scheme, "Bearer") {
		token = strings.TrimSpace(token)
		switch {
		case strings.HasPrefix(token, OperatorPrefix), strings.HasPrefix(token, AgentPrefix):
			id, err := s.authenticateToken(token)
			if err != nil && s.signInLimiter.firstRefusalInWindow(c.From, s.Clock()) {
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

func (s *Service) authenticateToken(token string) (Identity, error) {
	if !isToken(token) {
		return Identity{}, errInvalidToken
	}
	now := s.current.Load()
	t := now.tokens[digestOf(token)]
	if t == nil || s.isExpired(t.ExpiresAt) {
		return Identity{}, errInvalidToken
	}
	id := Identity{Name: t.Name, Agent: true, Apps: t.Apps}
	if t.Person != "" {
		person := now.findPerson(t.Person)
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
	now := s.current.Load()
	session := now.signIns[digestOf(c.Cookie)]
	if session == nil || s.isExpired(s.sessionExpiry(session)) {
		return Identity{}, signInError(ErrSessionExpired, "This browser's sign-in is over. Sign in again.")
	}
	person := now.findPerson(session.Person)
	if person == nil {
		return Identity{}, signInError(ErrSessionExpired, "This browser's sign-in is over. Sign in again.")
	}
	if c.Key == "" && c.ChangesState {
		return Identity{}, nil
	}
	key := digestOf(c.Key)
	if c.Key != "" && subtle.ConstantTimeCompare(key[:], session.Key) != 1 {
		return Identity{}, errKeyMismatch
	}
	s.recordUse(session.ID)
	return Identity{Name: person.Name, Role: person.Role, Owner: person.Owner, Via: "session", ID: session.ID}, nil
}

// proxyIdentity is whom the proxy names, by name or by the e-mail address that the hub has
// of them. Whom it lets through and nobody has given a role may look.
func (s *Service) proxyIdentity(name string) Identity {
	now := s.current.Load()
	if person := now.findPerson(name); person != nil {
		return Identity{Name: person.Name, Role: person.Role, Owner: person.Owner, Via: "proxy"}
	}
	for i := range now.Persons {
		if person := &now.Persons[i]; person.Email != "" && strings.EqualFold(person.Email, name) {
			return Identity{Name: person.Name, Role: person.Role, Owner: person.Owner, Via: "proxy"}
		}
	}
	return Identity{Name: name, Role: schema.Viewer, Via: "proxy"}
}

// isExpired reports whether the time has come; the zero time never does.
func (s *Service) isExpired(t time.Time) bool { return !t.IsZero() && !s.Clock().Before(t) }

// sessionExpiry is when a sign-in ends unless it is used meanwhile.
func (s *Service) sessionExpiry(session *store.SignIn) time.Time {
	end, last := s.lastUsed(session.ID, session.LastSeenAt).Add(sessionIdleTimeout), session.CreatedAt.Add(sessionMaxAge)
	if last.Before(end) {
		return last
	}
	return end
}

// recordUse notes that a sign-in or a token was used.
func (s *Service) recordUse(id string) {
	at, ok := s.lastUse.Load(id)
	if !ok {
		at, _ = s.lastUse.LoadOrStore(id, new(atomic.Int64))
	}
	at.(*atomic.Int64).Store(s.Clock().UnixMilli())
}

func (s *Service) lastUsed(id string, stored time.Time) time.Time {
	if at, ok := s.lastUse.Load(id); ok {
		return latest(stored, time.UnixMilli(at.(*atomic.Int64).Load()))
	}
	return stored
}
