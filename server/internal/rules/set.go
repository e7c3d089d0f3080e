package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
)

// StoredRule is a rule as it is kept.
type StoredRule struct {
	schema.Rule
	After schema.EventID // it answers what was asked later than this
	Since schema.Millis  // when it was made, by the clock as it is now
}

// Set is the rules that hold, made for being asked. It does not change; a nil one has
// none.
type Set struct {
	byCall   map[string][]*compiled // :: schema.Rule.Call → for exactly that call
	byTool   map[string][]*compiled // :: tool → the others
	sessions map[session]bool       // that a rule ends with
}

type session struct{ app, id string }

type compiled struct {
	StoredRule
	when   []condition
	broken bool
	narrow int // the smaller, the narrower
}

// NewSet compiles the rules that hold. One that can't be compiled any more is named in
// err and kept as one that may hold or not: it allows nothing, and as a deny it leaves
// what it may cover to a person.
func NewSet(list []StoredRule) (s *Set, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	s = &Set{byCall: map[string][]*compiled{}, byTool: map[string][]*compiled{}, sessions: map[session]bool{}}
	for _, e := range list {
		c := &compiled{StoredRule: e, narrow: breadth(&e.Rule)}
		for i, condition := range e.When {
			one, bad := compile(e.Tool, condition, fmt.Sprintf("when.%d", i))
			if bad != nil {
				c.broken, err = true, fmt.Errorf("rule %d can't be read any more: %w", e.ID, bad)
			}
			c.when = append(c.when, one)
		}
		if e.SessionID != "" {
			s.sessions[session{e.SourceApp, e.SessionID}] = true
		}
		if e.Call != "" {
			s.byCall[e.Call] = append(s.byCall[e.Call], c)
		} else {
			s.byTool[e.Tool] = append(s.byTool[e.Tool], c)
		}
	}
	for _, index := range []map[string][]*compiled{s.byCall, s.byTool} {
		for _, some := range index {
			slices.SortFunc(some, func(a, b *compiled) int {
				return cmp.Or(cmp.Compare(a.narrow, b.narrow), cmp.Compare(a.ID, b.ID))
			})
		}
	}
	return s, err
}

// breadth orders rules by how much they cover: what, before where.
func breadth(r *schema.Rule) int {
	what, where := 3*(schema.MaxConditions+1), 3
	switch {
	case r.Call != "" && !strings.HasPrefix(r.Call, anywhere):
		what = 0
	case r.Call != "":
		what = 1
	case len(r.When) > 0:
		what = 2 + schema.MaxConditions - len(r.When)
	}
	switch {
	case r.SessionID != "":
		where = 0
	case r.Cwd != "":
		where = 1
	case r.SourceApp != "":
		where = 2
	}
	return what*4 + where
}

// EndsWith reports whether a rule of the set ends with a session.
func (s *Set) EndsWith(app, id string) bool { return s != nil && s.sessions[session{app, id}] }

// Len is how many rules the set has.
func (s *Set) Len() (n int) {
	if s == nil {
		return 0
	}
	for _, index := range []map[string][]*compiled{s.byCall, s.byTool} {
		for _, some := range index {
			n += len(some)
		}
	}
	return n
}

// Decide returns the rule that answers the question, or nil. A deny goes before every
// allow, and of several the narrowest gives its name.
func (s *Set) Decide(c *Call, now schema.Millis) *schema.Rule {
	if s == nil || Ineligible(c) != "" {
		return nil
	}
	candidates := [3][]*compiled{s.byTool[c.Tool]}
	if len(s.byCall) > 0 {
		candidates[0], candidates[1], candidates[2] = s.byCall[c.exact()], s.byCall[c.same()], s.byTool[c.Tool]
	}
	var allow *compiled
	doubt := false
	for _, some := range candidates {
		for _, r := range some {
			if allow != nil && r.Then == schema.ThenAllow || !r.inForce(c, now) {
				continue
			}
			switch verdict := r.match(c); {
			case verdict == holds && r.Then == schema.ThenDeny:
				return &r.Rule
			case verdict == holds:
				allow = r
			case verdict == unclear && r.Then == schema.ThenDeny:
				doubt = true
			}
		}
	}
	// Who allowed exactly this call looked at it, whatever else can't be told of it.
	if allow == nil || doubt && allow.Call == "" {
		return nil
	}
	return &allow.Rule
}

// Match reports whether a rule that holds would answer the question.
func Match(r *schema.Rule, c *Call) bool {
	s, err := NewSet([]StoredRule{{Rule: *r, Since: r.CreatedAt}})
	return err == nil && s.Decide(c, r.CreatedAt) != nil
}

// inForce reports whether the rule is there for the question at all. A clock that shows
// a time before the rule was made was set back: how long the rule has held nobody knows.
func (r *compiled) inForce(c *Call, now schema.Millis) bool {
	switch {
	case r.SessionID != "" && (r.SessionID != c.Session || r.SourceApp != c.App):
		return false
	case r.SourceApp != "" && r.SourceApp != c.App, r.Tool != c.Tool:
		return false
	case c.ID != 0 && c.ID <= r.After, r.RevokedAt != 0:
		return false
	case r.ExpiresAt != 0 && (now >= r.ExpiresAt || now < r.Since-slack):
		return false
	default:
		return true
	}
}

// slack is how far clocks get away from each other without anybody's doing, in ms.
const slack = 5000

// match holds a rule that is in force against a call.
func (r *compiled) match(c *Call) verdict {
	if c.Redacted && (r.Then == schema.ThenAllow || r.Call != "") || r.broken {
		return unclear
	}
	if r.Cwd != "" {
		c.decode()
		if c.folder == "" {
			return unclear
		}
		if !below(c.folder, r.Cwd) {
			return fails
		}
	}
	worst := holds
	for i := range r.when {
		if worst = min(worst, r.when[i].check(c)); worst == fails {
			return fails
		}
	}
	if worst == holds && len(r.when) == 0 && r.Call == "" && r.Then == schema.ThenAllow && len(c.Arguments) > 0 {
		if c.decode(); c.members == nil {
			return unclear
		}
	}
	return worst
}
