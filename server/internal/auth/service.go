package auth

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Config is what a People is made of. Store is required.
type Config struct {
	Store *store.Store
	OIDC  *OIDC // default: nobody signs in with a provider
	// Passkeys say which answers need one; default: none does.
	Passkeys *Passkeys
	Clock    func() time.Time // default time.Now
	Log      *slog.Logger     // default: discard
}

// Service are those who may use a hub. What a request needs is in memory, so that it
// costs no query. A nil People knows nobody and is not locked.
type Service struct {
	Config
	changing sync.Mutex            // one change at a time
	now      atomic.Pointer[state] // as of the last change
	used     sync.Map              // :: id of a sign-in or token → *atomic.Int64, when it was used last, Unix ms
	tries    tries
	watched  watched
	proving  proving
}

// state never changes: a change makes another one.
type state struct {
	store.People
	tokens  map[digest]*store.Token
	signIns map[digest]*store.SignIn // :: by the cookie
	codes   map[digest]*store.Code
}

// Open reads the people of a hub.
func Open(ctx context.Context, cfg Config) (*Service, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	stored, err := cfg.Store.People(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading who may use the hub: %w", err)
	}
	p := &Service{Config: cfg}
	if cfg.Passkeys != nil {
		if p.proving.web, err = cfg.Passkeys.web(); err != nil {
			return nil, fmt.Errorf("setting up passkeys: %w", err)
		}
	}
	p.now.Store(index(stored))
	return p, nil
}

func index(stored *store.People) *state {
	s := &state{People: *stored, tokens: map[digest]*store.Token{}, signIns: map[digest]*store.SignIn{}, codes: map[digest]*store.Code{}}
	for i := range s.Tokens {
		s.tokens[digest(s.Tokens[i].Hash)] = &s.Tokens[i]
	}
	for i := range s.SignIns {
		s.signIns[digest(s.SignIns[i].Cookie)] = &s.SignIns[i]
	}
	for i := range s.Codes {
		s.codes[digest(s.Codes[i].Hash)] = &s.Codes[i]
	}
	return s
}

// change writes what changes and makes it true. The caller holds p.changing and has
// computed it from p.now.
func (p *Service) change(ctx context.Context, c *store.PeopleChange) error {
	if err := p.Store.ChangePeople(ctx, c); err != nil {
		return err
	}
	next := p.now.Load().People
	if c.SetLocked {
		next.Locked = c.Locked
	}
	next.Persons = merge(next.Persons, c.Persons, c.WithoutPerson, func(o store.Person) string { return o.Name })
	next.SignIns = merge(next.SignIns, c.SignIns, c.WithoutSignIn, func(o store.SignIn) string { return o.ID })
	next.Tokens = merge(next.Tokens, c.Tokens, c.WithoutToken, func(o store.Token) string { return o.ID })
	codes := make([]string, len(c.WithoutCode))
	for i, hash := range c.WithoutCode {
		codes[i] = string(hash)
	}
	next.Passkeys = merge(next.Passkeys, c.Passkeys, c.WithoutPasskey, func(o store.Passkey) string { return o.ID })
	next.Codes = merge(next.Codes, c.Codes, codes, func(o store.Code) string { return string(o.Hash) })
	p.now.Store(index(&next))
	for _, id := range slices.Concat(c.WithoutSignIn, c.WithoutToken) {
		p.used.Delete(id)
		p.watched.revoke(id)
	}
	return nil
}

// merge is a new list: without those removed, those written in their places.
func merge[T any](old, written []T, removed []string, key func(T) string) []T {
	next := slices.DeleteFunc(slices.Clone(old), func(o T) bool {
		same := func(w T) bool { return key(w) == key(o) }
		return slices.Contains(removed, key(o)) || slices.ContainsFunc(written, same)
	})
	next = append(next, written...)
	slices.SortFunc(next, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return next
}

// Locked reports whether the hub takes answers of signed-in operators only.
func (p *Service) Locked() bool { return p != nil && p.now.Load().Locked }

// Owned reports whether somebody has signed in as the hub's owner.
func (p *Service) Owned() bool {
	return p != nil && slices.ContainsFunc(p.now.Load().Persons, func(o store.Person) bool { return o.Owner })
}

// RequireOperator is nil when w may answer questions, and do what else decides something
// for the agents. Whoever is not known may on a hub that is not locked; that the
// request came from this machine is the door's to know.
func (p *Service) RequireOperator(w Identity) error { return p.may(w, schema.Operator) }

// RequireAdmin is nil when w may change what goes for everybody: rules, channels.
func (p *Service) RequireAdmin(w Identity) error { return p.may(w, schema.Admin) }

func (p *Service) may(w Identity, role schema.Role) error {
	switch {
	case w.Agent:
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "An agent's token asks; it never answers."}
	case w.Known() && w.Is(role):
		return nil
	case w.Known():
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: fmt.Sprintf("%s is %s here; it takes %s. An admin can change that under Settings, People.", w.Name, aRole(w.Role), aRole(role))}
	case p.Locked():
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "This hub is locked: only people who are signed in may do that. Open your sign-in link, or send a token of yours."}
	default:
		return nil
	}
}

// manages is nil when w may change who may do what. That takes a person whom the hub
// knows even while it is not locked: a credential that an agent made itself would
// outlive the lock.
func (p *Service) manages(w Identity) error {
	if !w.Known() {
		hint := "Sign in as an admin first."
		if !p.Owned() {
			hint = "Nobody owns this hub yet: open the sign-in link that it printed when it started."
		}
		return &schema.HintError{Err: schema.ErrSignIn, Hint: hint}
	}
	return p.may(w, schema.Admin)
}

func aRole(r schema.Role) string {
	if r == schema.Viewer {
		return "a viewer"
	}
	return "an " + string(r)
}

// ResolveRecipients says who the recipients of a question are by name, as things stand; nil for
// anyone. Its errors name the member of humanInTheLoop.recipients that is wrong.
func (p *Service) ResolveRecipients(r *schema.Recipients) ([]string, error) {
	if r == nil || r.Mode == "" || r.Mode == "anyone" {
		return nil, nil
	}
	if !p.Owned() {
		return nil, &schema.FieldError{
			Field:  "humanInTheLoop.recipients.mode",
			Detail: "must be anyone: nobody has signed in to this hub, so it can't tell who answers. Open the sign-in link that it prints when it starts",
		}
	}
	if r.Mode == "selected_members" {
		return p.members(r.Members)
	}
	var names []string
	for _, o := range p.now.Load().Persons {
		if o.Owner || r.Mode == "owner_admins" && o.Role == schema.Admin {
			names = append(names, o.Name)
		}
	}
	return names, nil
}

func (p *Service) members(named []string) ([]string, error) {
	const field = "humanInTheLoop.recipients.members"
	var names []string
	for _, name := range named {
		o := p.now.Load().person(name)
		switch {
		case o == nil:
			return nil, &schema.FieldError{Field: field, Detail: fmt.Sprintf("names %q, whom this hub does not know", name)}
		case o.Role == schema.Viewer:
			return nil, &schema.FieldError{Field: field, Detail: fmt.Sprintf("names %q, who is a viewer and can't answer", name)}
		case !slices.Contains(names, o.Name):
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return nil, &schema.FieldError{Field: field, Detail: "must name somebody"}
	}
	return names, nil
}

// person finds somebody by name, in any case; nil: nobody goes by it.
func (s *state) person(name string) *store.Person {
	i := slices.IndexFunc(s.Persons, func(o store.Person) bool { return strings.EqualFold(o.Name, name) })
	if i < 0 {
		return nil
	}
	return &s.Persons[i]
}

// Accounts lists everybody, by name.
func (p *Service) Accounts(context.Context) []schema.Person {
	if p == nil {
		return nil
	}
	s := p.now.Load()
	all := make([]schema.Person, len(s.Persons))
	for i := range s.Persons {
		all[i] = p.shown(&s.Persons[i])
	}
	return all
}

func (p *Service) shown(o *store.Person) schema.Person {
	one := schema.Person{Name: o.Name, Role: o.Role, Owner: o.Owner, Email: o.Email, CreatedAt: millis(o.CreatedAt)}
	seen := o.LastSeenAt
	s := p.now.Load()
	one.Passkeys = len(s.passkeysOf(o.Name))
	for i := range s.SignIns {
		if s.SignIns[i].Person == o.Name {
			seen = later(seen, p.lastUsed(s.SignIns[i].ID, s.SignIns[i].LastSeenAt))
		}
	}
	for i := range s.Tokens {
		if s.Tokens[i].Person == o.Name {
			seen = later(seen, p.lastUsed(s.Tokens[i].ID, s.Tokens[i].LastUsedAt))
		}
	}
	one.LastSeenAt = millis(seen)
	return one
}

// IdentityOf is somebody by name, for whoever knows by other means that it is them; ok is
// false when there is no such person.
func (p *Service) IdentityOf(name, via string) (w Identity, ok bool) {
	if p == nil {
		return Identity{}, false
	}
	o := p.now.Load().person(name)
	if o == nil {
		return Identity{}, false
	}
	return Identity{Name: o.Name, Role: o.Role, Owner: o.Owner, Via: via}, true
}

// CreatedAt is when the person of that name was made known; false: there is none. What was
// put to, or done by, somebody of that name before is another's.
func (p *Service) CreatedAt(name string) (at time.Time, ok bool) {
	if p == nil {
		return at, false
	}
	o := p.now.Load().person(name)
	if o == nil {
		return at, false
	}
	return o.CreatedAt, true
}

func millis(t time.Time) schema.Millis {
	if t.IsZero() {
		return 0
	}
	return schema.Millis(t.UnixMilli())
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
