package auth

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	codeFor   = 15 * time.Minute
	codeBytes = 16
	codeChars = 22
	idChars   = 16 // of 12 random bytes: an id is no secret, but nobody's to guess either
	maxName   = 64
	maxAgent  = 256 // of a browser's own description
)

// SignInAttempt is somebody who wants to sign in.
type SignInAttempt struct {
	Code string
	Name string // of the hub's first person, who names themselves
	From netip.Addr
	// UserAgent is what the browser calls itself, for the list of sign-ins.
	UserAgent string
}

// Session is a sign-in as its browser gets it, once: the hub keeps hashes.
type Session struct {
	Cookie, Key string
	Until       time.Time // of the cookie
	Identity    Identity
}

// OwnerCode makes a code by which whoever takes it first owns the hub; earlier ones
// are void. It is empty when somebody owns it already.
func (p *Service) OwnerCode(ctx context.Context) (string, error) {
	p.changing.Lock()
	defer p.changing.Unlock()
	if p.Owned() {
		return "", nil
	}
	return p.newCode(ctx, store.Code{Way: "link"}, &store.PeopleChange{})
}

// newCode makes a one-time code as one says, for a person and a way; the caller holds
// p.changing.
func (p *Service) newCode(ctx context.Context, one store.Code, c *store.PeopleChange) (string, error) {
	now := p.Clock()
	for _, old := range p.now.Load().Codes {
		if old.Person == one.Person || p.spent(&old) {
			c.WithoutCode = append(c.WithoutCode, old.Hash)
		}
	}
	code := newSecret(codeBytes, codeChars)
	hash := digestOf(code)
	one.Hash, one.CreatedAt, one.ExpiresAt = hash[:], now, now.Add(codeFor)
	c.Codes = []store.Code{one}
	return code, p.change(ctx, c)
}

// spent reports whether a code counts no more. One from the future was made by a clock
// that has been set back: how old it is, nobody knows.
func (p *Service) spent(c *store.Code) bool {
	return p.over(c.ExpiresAt) || p.Clock().Before(c.CreatedAt.Add(-time.Minute))
}

// SignIn lets in whoever has a code, once.
func (p *Service) SignIn(ctx context.Context, a SignInAttempt) (*Session, error) {
	if err := p.tries.allowed(a.From, p.Clock()); err != nil {
		return nil, err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	hash := digestOf(a.Code)
	code := p.now.Load().codes[hash]
	if code == nil || p.spent(code) || code.Person == "" && p.Owned() || code.Person != "" && p.now.Load().person(code.Person) == nil {
		p.tries.failed(a.From, p.Clock())
		p.note(ctx, act("person.sign_in_failed", Identity{}, map[string]any{"from": a.From.String(), "userAgent": printable(a.UserAgent, maxAgent)}))
		return nil, &schema.HintError{Err: schema.ErrSignIn, Hint: "This link was used already, or is older than 15 minutes. " + p.anotherLink()}
	}
	c := store.PeopleChange{WithoutCode: [][]byte{hash[:]}}
	person := p.now.Load().person(code.Person)
	if person == nil {
		name, err := p.newName(a.Name)
		if err != nil {
			return nil, err
		}
		person = &store.Person{Name: name, Role: schema.Admin, Owner: true, CreatedAt: p.Clock()}
		c.Persons = []store.Person{*person}
	}
	return p.enter(ctx, &c, entry{person: person, way: code.Way, userAgent: a.UserAgent, from: a.From})
}

func (p *Service) anotherLink() string {
	if p.Owned() {
		return "Ask an admin for another one, or run the hub's program with -sign-in NAME where it is stopped."
	}
	return "Start the hub again: it prints a fresh one."
}

// entry is a person who has shown who they are.
type entry struct {
	person         *store.Person
	way, userAgent string
	from           netip.Addr
}

// enter makes a sign-in along with change c; the caller holds p.changing.
func (p *Service) enter(ctx context.Context, c *store.PeopleChange, e entry) (*Session, error) {
	now := p.Clock()
	for i := range p.now.Load().SignIns { // the place to clear away: there are few
		if old := &p.now.Load().SignIns[i]; p.over(p.end(old)) {
			c.WithoutSignIn = append(c.WithoutSignIn, old.ID)
		}
	}
	c.Acts = append(c.Acts, act("person.signed_in", Identity{Name: e.person.Name}, map[string]any{"way": e.way, "from": e.from.String(), "owner": e.person.Owner}))
	s := &Session{Cookie: newSecret(secretBytes, secretChars), Key: newSecret(secretBytes, secretChars), Until: now.Add(lasts)}
	cookie, key := digestOf(s.Cookie), digestOf(s.Key)
	in := store.SignIn{
		ID: "s_" + newSecret(12, idChars), Person: e.person.Name, Way: e.way, UserAgent: printable(e.userAgent, maxAgent),
		Cookie: cookie[:], Key: key[:], CreatedAt: now, LastSeenAt: now,
	}
	c.SignIns = append(c.SignIns, in)
	if err := p.change(ctx, c); err != nil {
		return nil, err
	}
	s.Identity = Identity{Name: e.person.Name, Role: e.person.Role, Owner: e.person.Owner, Via: "session", ID: in.ID}
	return s, nil
}

// SignOut ends the sign-in of who asks for it.
func (p *Service) SignOut(ctx context.Context, w Identity) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	if w.Via != "session" {
		return &schema.HintError{Err: schema.ErrSignIn, Hint: "Nobody is signed in here."}
	}
	return p.change(ctx, &store.PeopleChange{WithoutSignIn: []string{w.ID}, Acts: []store.LedgerRecord{act("person.signed_out", w, map[string]any{"name": w.Name, "signIn": w.ID})}})
}

// Lock takes answers of signed-in operators only, from now on, or of anyone again.
func (p *Service) Lock(ctx context.Context, locked bool, w Identity) error {
	if err := p.manages(w); err != nil {
		return err
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	if p.Locked() == locked {
		return nil
	}
	kind := "hub.unlocked"
	if locked {
		kind = "hub.locked"
	}
	return p.change(ctx, &store.PeopleChange{SetLocked: true, People: store.People{Locked: locked}, Acts: []store.LedgerRecord{act(kind, w, nil)}})
}

// note keeps an act that changes nothing.
func (p *Service) note(ctx context.Context, a store.LedgerRecord) {
	if err := p.Store.AppendLedger(context.WithoutCancel(ctx), a); err != nil {
		p.Log.Error("an act is missing in the ledger", "act", a.Action, "err", err)
	}
}

// RecoverAccess makes a code that signs in name on a hub that nobody can sign in to any
// more: the person of that name, or its first one, who becomes the owner.
func (p *Service) RecoverAccess(ctx context.Context, name string) (string, error) {
	p.changing.Lock()
	defer p.changing.Unlock()
	c := store.PeopleChange{}
	o := p.now.Load().person(name)
	if o == nil {
		if p.Owned() {
			return "", fmt.Errorf("nobody here is called %q: this hub knows %s", name, strings.Join(p.names(), ", "))
		}
		valid, err := p.newName(name)
		if err != nil {
			return "", err
		}
		o = &store.Person{Name: valid, Role: schema.Admin, Owner: true, CreatedAt: p.Clock()}
		c.Persons = []store.Person{*o}
	}
	c.Acts = []store.LedgerRecord{{Action: "person.link_made", Actor: "the hub's machine", Data: map[string]any{"name": o.Name}}}
	return p.newCode(ctx, store.Code{Person: o.Name, Way: "link"}, &c)
}

func (p *Service) names() []string {
	var names []string
	for _, o := range p.now.Load().Persons {
		names = append(names, o.Name)
	}
	return names
}

// Me is who the caller is to the hub. here says that they need no credential: they are
// on this machine.
func (p *Service) Me(w Identity, acts, here bool) schema.Me {
	me := schema.Me{Name: w.Name, Role: w.Role, Verified: w.Known(), Owner: w.Owner, Locked: p.Locked()}
	if me.Name == "" {
		me.Name = LocalName
	}
	if w.Via == "session" {
		me.SignIn = w.ID
	}
	me.PasskeyFor = p.PasskeyMinRisk()
	if me.PasskeyFor != "" {
		me.PasskeyAt = p.Passkeys.Origin
	}
	if w.Known() && !w.Agent {
		me.Passkeys = len(p.now.Load().passkeysOf(w.Name))
	}
	if p.HasProvider() {
		me.Ways = []string{"oidc"}
	}
	if !acts {
		w = Identity{}
	}
	if w.Known() || here {
		me.CanAnswer, me.CanAdmin = p.RequireOperator(w) == nil, p.RequireAdmin(w) == nil
	}
	return me
}

// LocalName is who acts on a hub that does not know them.
const LocalName = "local user"

// reserved are names that mean something else in an answer or in the ledger.
var reserved = []string{LocalName, "hub", "the hub", "anyone", "owner", "owner_admins", "nobody"}

// newName is the name of a new person, unless somebody or something has it.
func (p *Service) newName(name string) (string, error) {
	name = strings.Join(strings.Fields(name), " ")
	lower := strings.ToLower(name)
	switch {
	case name == "":
		return "", &schema.FieldError{Field: "name", Detail: "is needed: it stands beside every answer"}
	case utf8.RuneCountInString(name) > maxName:
		return "", &schema.FieldError{Field: "name", Detail: "may have 64 characters"}
	case printable(name, len(name)) != name, strings.ContainsAny(name, `/\:"<>`):
		return "", &schema.FieldError{Field: "name", Detail: `must have letters, digits and ordinary signs only, without / \ : " < >`}
	case slices.Contains(reserved, lower), strings.HasPrefix(lower, "rule "), strings.HasPrefix(lower, "__"):
		return "", &schema.FieldError{Field: "name", Detail: "is a name that the hub uses itself"}
	case p.now.Load().person(name) != nil:
		return "", &schema.FieldError{Field: "name", Detail: "is another person's already"}
	}
	return name, nil
}

// printable cuts text and takes out what can't be seen.
func printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	for len(text) > most {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
