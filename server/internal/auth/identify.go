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
	idle  = 14 * 24 * time.Hour
	lasts = 90 * 24 * time.Hour
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

// refusal is a schema.ErrSignIn with what to do about it.
func refusal(because error, hint string) error {
	return &schema.HintError{Err: errors.Join(schema.ErrSignIn, because), Hint: hint}
}

var (
	errWrongToken = &schema.HintError{Err: schema.ErrSignIn, Hint: "This token is wrong, expired or revoked. Make another one under Settings, People."}
	errNotOurs    = &schema.HintError{Err: schema.ErrSignIn, Hint: "The Authorization header holds no token of a hub: they begin with " + OperatorPrefix + " or " + AgentPrefix + "."}
	errNoCookie   = &schema.HintError{Err: schema.ErrSignIn, Hint: "This browser's sign-in is gone: its cookie is missing. Sign in again."}
	errWrongKey   = &schema.HintError{Err: schema.ErrSignIn, Hint: "This page's key does not belong to this browser's sign-in. Sign in again."}
)

// Authenticate says who is behind a request, the zero Who when it shows nothing. What is
// wrong, expired or revoked is schema.ErrSignIn, never nobody.
func (p *Service) Authenticate(s Credentials) (Identity, error) {
	if p == nil {
		return Identity{}, nil
	}
	if scheme, token, ok := strings.Cut(s.Authorization, " "); ok && strings.EqualFold(scheme, "Bearer") {
		token = strings.TrimSpace(token)
		switch {
		case strings.HasPrefix(token, OperatorPrefix), strings.HasPrefix(token, AgentPrefix):
			w, err := p.byToken(token)
			if err != nil && p.tries.first(s.From, p.Clock()) {
				p.note(context.Background(), act("token.refused", Identity{}, map[string]any{"from": s.From.String()}))
			}
			return w, err
		case s.Proxy == "":
			return Identity{}, errNotOurs
		}
	}
	switch {
	case s.Cookie != "":
		return p.byCookie(&s)
	case s.Key != "":
		return Identity{}, errNoCookie
	case s.Proxy != "":
		return p.byProxy(s.Proxy), nil
	default:
		return Identity{}, nil
	}
}

func (p *Service) byToken(token string) (Identity, error) {
	if !isToken(token) {
		return Identity{}, errWrongToken
	}
	now := p.now.Load()
	t := now.tokens[digestOf(token)]
	if t == nil || p.over(t.ExpiresAt) {
		return Identity{}, errWrongToken
	}
	w := Identity{Name: t.Name, Agent: true, Apps: t.Apps}
	if t.Person != "" {
		o := now.person(t.Person)
		if o == nil {
			return Identity{}, errWrongToken
		}
		w = Identity{Name: o.Name, Role: o.Role, Owner: o.Owner}
	}
	w.Via, w.ID = "token", t.ID
	p.touch(t.ID)
	return w, nil
}

func (p *Service) byCookie(s *Credentials) (Identity, error) {
	now := p.now.Load()
	in := now.signIns[digestOf(s.Cookie)]
	if in == nil || p.over(p.end(in)) {
		return Identity{}, refusal(ErrSessionExpired, "This browser's sign-in is over. Sign in again.")
	}
	o := now.person(in.Person)
	if o == nil {
		return Identity{}, refusal(ErrSessionExpired, "This browser's sign-in is over. Sign in again.")
	}
	if s.Key == "" && s.ChangesState {
		return Identity{}, nil
	}
	key := digestOf(s.Key)
	if s.Key != "" && subtle.ConstantTimeCompare(key[:], in.Key) != 1 {
		return Identity{}, errWrongKey
	}
	p.touch(in.ID)
	return Identity{Name: o.Name, Role: o.Role, Owner: o.Owner, Via: "session", ID: in.ID}, nil
}

// byProxy is whom the proxy names, by name or by the e-mail address that the hub has
// of them. Whom it lets through and nobody has given a role may look.
func (p *Service) byProxy(name string) Identity {
	now := p.now.Load()
	if o := now.person(name); o != nil {
		return Identity{Name: o.Name, Role: o.Role, Owner: o.Owner, Via: "proxy"}
	}
	for i := range now.Persons {
		if o := &now.Persons[i]; o.Email != "" && strings.EqualFold(o.Email, name) {
			return Identity{Name: o.Name, Role: o.Role, Owner: o.Owner, Via: "proxy"}
		}
	}
	return Identity{Name: name, Role: schema.Viewer, Via: "proxy"}
}

// over reports whether the time has come; the zero time never does.
func (p *Service) over(t time.Time) bool { return !t.IsZero() && !p.Clock().Before(t) }

// end is when a sign-in ends unless it is used meanwhile.
func (p *Service) end(in *store.SignIn) time.Time {
	end, last := p.lastUsed(in.ID, in.LastSeenAt).Add(idle), in.CreatedAt.Add(lasts)
	if last.Before(end) {
		return last
	}
	return end
}

// touch notes that a sign-in or a token was used.
func (p *Service) touch(id string) {
	at, ok := p.used.Load(id)
	if !ok {
		at, _ = p.used.LoadOrStore(id, new(atomic.Int64))
	}
	at.(*atomic.Int64).Store(p.Clock().UnixMilli())
}

func (p *Service) lastUsed(id string, stored time.Time) time.Time {
	if at, ok := p.used.Load(id); ok {
		return later(stored, time.UnixMilli(at.(*atomic.Int64).Load()))
	}
	return stored
}
