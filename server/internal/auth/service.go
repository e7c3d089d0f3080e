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
	changeMu      sync.Mutex                // one change at a time
	current       atomic.Pointer[directory] // as of the last change
	lastUse       sync.Map                  // :: id of a sign-in or token → *atomic.Int64, when it was used last, Unix ms
	signInLimiter signInLimiter
	revocations   revocationHooks
	ceremonies    passkeyCeremonies
}

// directory never changes: a change makes another one.
type directory struct {
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
	s := &Service{Config: cfg}
	if cfg.Passkeys != nil {
		if s.ceremonies.relyingParty, err = cfg.Passkeys.relyingParty(); err != nil {
			return nil, fmt.Errorf("setting up passkeys: %w", err)
		}
	}
	s.current.Store(newDirectory(stored))
	return s, nil
}

func newDirectory(stored *store.People) *directory {
	dir := &directory{People: *stored, tokens: map[digest]*store.Token{}, signIns: map[digest]*store.SignIn{}, codes: map[digest]*store.Code{}}
	for i := range dir.Tokens {
		dir.tokens[digest(dir.Tokens[i].Hash)] = &dir.Tokens[i]
	}
	for i := range dir.SignIns {
		dir.signIns[digest(dir.SignIns[i].Cookie)] = &dir.SignIns[i]
	}
	for i := range dir.Codes {
		dir.codes[digest(dir.Codes[i].Hash)] = &dir.Codes[i]
	}
	return dir
}

// applyChange writes what changes and makes it true. The caller holds p.changing and has
// computed it from p.now.
func (s *Service) applyChange(ctx context.Context, c *store.PeopleChange) error {
	if err := s.Store.ChangePeople(ctx, c); err != nil {
		return err
	}
	next := s.current.Load().People
	if c.SetLocked {
		next.Locked = c.Locked
	}
	next.Persons = mergeByKey(next.Persons, c.Persons, c.WithoutPerson, func(o store.Person) string { return o.Name })
	next.SignIns = mergeByKey(next.SignIns, c.SignIns, c.WithoutSignIn, func(o store.SignIn) string { return o.ID })
	next.Tokens = mergeByKey(next.Tokens, c.Tokens, c.WithoutToken, func(o store.Token) string { return o.ID })
	codes := make([]string, len(c.WithoutCode))
	for i, hash := range c.WithoutCode {
		codes[i] = string(hash)
	}
	next.Passkeys = mergeByKey(next.Passkeys, c.Passkeys, c.WithoutPasskey, func(o store.Passkey) string { return o.ID })
	next.Codes = mergeByKey(next.Codes, c.Codes, codes, func(o store.Code) string { return string(o.Hash) })
	s.current.Store(newDirectory(&next))
	for _, id := range slices.Concat(c.WithoutSignIn, c.WithoutToken) {
		s.lastUse.Delete(id)
		s.revocations.fire(id)
	}
	return nil
}

// mergeByKey is a new list: without those removed, those written in their places.
func mergeByKey[T any](old, written []T, removed []string, key func(T) string) []T {
	next := slices.DeleteFunc(slices.Clone(old), func(o T) bool {
		same := func(change T) bool { return key(change) == key(o) }
		return slices.Contains(removed, key(o)) || slices.ContainsFunc(written, same)
	})
	next = append(next, written...)
	slices.SortFunc(next, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return next
}

// Locked reports whether the hub takes answers of signed-in operators only.
func (s *Service) Locked() bool { return s != nil && s.current.Load().Locked }

// Owned reports whether somebody has signed in as the hub's owner.
func (s *Service) Owned() bool {
	return s != nil && slices.ContainsFunc(s.current.Load().Persons, func(o store.Person) bool { return o.Owner })
}

// RequireOperator is nil when w may answer questions, and do what else decides something
// for the agents. Whoever is not known may on a hub that is not locked; that the
// request came from this machine is the door's to know.
func (s *Service) RequireOperator(id Identity) error { return s.requireRole(id, schema.Operator) }

// RequireAdmin is nil when w may change what goes for everybody: rules, channels.
func (s *Service) RequireAdmin(id Identity) error { return s.requireRole(id, schema.Admin) }

func (s *Service) requireRole(id Identity, role schema.Role) error {
	switch {
	case id.Agent:
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: "An agent's token asks; it never answers."}
	case id.Known() && id.Is(role):
		return nil
	case id.Known():
		return &schema.HintError{Err: schema.ErrNotAllowed, Hint: fmt.Sprintf("%s is %s here; it takes %s. An admin can change that under Settings, People.", id.Name, roleWithArticle(id.Role), roleWithArticle(role))}
	case s.Locked():
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "This hub is locked: only people who are signed in may do that. Open your sign-in link, or send a token of yours."}
	default:
		return nil
	}
}

// requireAccountManager is nil when w may change who may do what. That takes a person whom the hub
// knows even while it is not locked: a credential that an agent made itself would
// outlive the lock.
func (s *Service) requireAccountManager(id Identity) error {
	if !id.Known() {
		hint := "Sign in as an admin first."
		if !s.Owned() {
			hint = "Nobody owns this hub yet: open the sign-in link that it printed when it started."
		}
		return &schema.HintError{Err: schema.ErrSignIn, Hint: hint}
	}
	return s.requireRole(id, schema.Admin)
}

func roleWithArticle(r schema.Role) string {
	if r == schema.Viewer {
		return "a viewer"
	}
	return "an " + string(r)
}

// ResolveRecipients says who the recipients of a question are by name, as things stand; nil for
// anyone. Its errors name the member of humanInTheLoop.recipients that is wrong.
func (s *Service) ResolveRecipients(r *schema.Recipients) ([]string, error) {
	if r == nil || r.Mode == "" || r.Mode == "anyone" {
		return nil, nil
	}
	if !s.Owned() {
		return nil, &schema.FieldError{
			Field:  "humanInTheLoop.recipients.mode",
			Detail: "must be anyone: nobody has signed in to this hub, so it can't tell who answers. Open the sign-in link that it prints when it starts",
		}
	}
	if r.Mode == "selected_members" {
		return s.resolveMembers(r.Members)
	}
	var names []string
	for _, o := range s.current.Load().Persons {
		if o.Owner || r.Mode == "owner_admins" && o.Role == schema.Admin {
			names = append(names, o.Name)
		}
	}
	return names, nil
}

func (s *Service) resolveMembers(named []string) ([]string, error) {
	const field = "humanInTheLoop.recipients.members"
	var names []string
	for _, name := range named {
		person := s.current.Load().findPerson(name)
		switch {
		case person == nil:
			return nil, &schema.FieldError{Field: field, Detail: fmt.Sprintf("names %q, whom this hub does not know", name)}
		case person.Role == schema.Viewer:
			return nil, &schema.FieldError{Field: field, Detail: fmt.Sprintf("names %q, who is a viewer and can't answer", name)}
		case !slices.Contains(names, person.Name):
			names = append(names, person.Name)
		}
	}
	if len(names) == 0 {
		return nil, &schema.FieldError{Field: field, Detail: "must name somebody"}
	}
	return names, nil
}

// findPerson finds somebody by name, in any case; nil: nobody goes by it.
func (d *directory) findPerson(name string) *store.Person {
	i := slices.IndexFunc(d.Persons, func(o store.Person) bool { return strings.EqualFold(o.Name, name) })
	if i < 0 {
		return nil
	}
	return &d.Persons[i]
}

// Accounts lists everybody, by name.
func (s *Service) Accounts(context.Context) []schema.Person {
	if s == nil {
		return nil
	}
	dir := s.current.Load()
	all := make([]schema.Person, len(dir.Persons))
	for i := range dir.Persons {
		all[i] = s.publicPerson(&dir.Persons[i])
	}
	return all
}

func (s *Service) publicPerson(person *store.Person) schema.Person {
	public := schema.Person{Name: person.Name, Role: person.Role, Owner: person.Owner, Email: person.Email, CreatedAt: toMillis(person.CreatedAt)}
	seen := person.LastSeenAt
	dir := s.current.Load()
	public.Passkeys = len(dir.passkeysOf(person.Name))
	for i := range dir.SignIns {
		if dir.SignIns[i].Person == person.Name {
			seen = latest(seen, s.lastUsed(dir.SignIns[i].ID, dir.SignIns[i].LastSeenAt))
		}
	}
	for i := range dir.Tokens {
		if dir.Tokens[i].Person == person.Name {
			seen = latest(seen, s.lastUsed(dir.Tokens[i].ID, dir.Tokens[i].LastUsedAt))
		}
	}
	public.LastSeenAt = toMillis(seen)
	return public
}

// IdentityOf is somebody by name, for whoever knows by other means that it is them; ok is
// false when there is no such person.
func (s *Service) IdentityOf(name, via string) (id Identity, ok bool) {
	if s == nil {
		return Identity{}, false
	}
	person := s.current.Load().findPerson(name)
	if person == nil {
		return Identity{}, false
	}
	return Identity{Name: person.Name, Role: person.Role, Owner: person.Owner, Via: via}, true
}

// CreatedAt is when the person of that name was made known; false: there is none. What was
// put to, or done by, somebody of that name before is another's.
func (s *Service) CreatedAt(name string) (at time.Time, ok bool) {
	if s == nil {
		return at, false
	}
	person := s.current.Load().findPerson(name)
	if person == nil {
		return at, false
	}
	return person.CreatedAt, true
}

func toMillis(t time.Time) schema.Millis {
	if t.IsZero() {
		return 0
	}
	return schema.Millis(t.UnixMilli())
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
