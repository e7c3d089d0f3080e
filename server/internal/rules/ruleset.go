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
	byCall   map[string][]*compiledRule // :: schema.Rule.Call → for exactly that call
	byTool   map[string][]*compiledRule // :: tool → the others
	sessions map[sessionKey]bool        // that a rule ends with
}

type sessionKey struct{ app, id string }

type compiledRule struct {
	StoredRule
	when        []condition
	broken      bool
	specificity int // the smaller, the narrower
}

// NewSet compiles the rules that hold. One that can't be compiled any more is named in
// err and kept as one that may hold or not: it allows nothing, and as a deny it leaves
// what it may cover to a person.
func NewSet(list []StoredRule) (s *Set, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	s = &Set{byCall: map[string][]*compiledRule{}, byTool: map[string][]*compiledRule{}, sessions: map[sessionKey]bool{}}
	for _, e := range list {
		c := &compiledRule{StoredRule: e, specificity: specificity(&e.Rule)}
		for i, condition := range e.When {
			cond, bad := compileCondition(e.Tool, condition, fmt.Sprintf("when.%d", i))
			if bad != nil {
				c.broken, err = true, fmt.Errorf("rule %d can't be read any more: %w", e.ID, bad)
			}
			c.when = append(c.when, cond)
		}
		if e.SessionID != "" {
			s.sessions[sessionKey{e.SourceApp, e.SessionID}] = true
		}
		if e.Call != "" {
			s.byCall[e.Call] = append(s.byCall[e.Call], c)
		} else {
			s.byTool[e.Tool] = append(s.byTool[e.Tool], c)
		}
	}
	for _, index := range []map[string][]*compiledRule{s.byCall, s.byTool} {
		for _, some := range index {
			slices.SortFunc(some, func(a, b *compiledRule) int {
				return cmp.Or(cmp.Compare(a.specificity, b.specificity), cmp.Compare(a.ID, b.ID))
			})
		}
	}
	return s, err
}

// specificity orders rules by how much they cover: what, before where.
func specificity(r *schema.Rule) int {
	what, where := 3*(schema.MaxConditions+1), 3
	switch {
	case r.Call != "" && !strings.HasPrefix(r.Call, anyDirPrefix):
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
func (s *Set) EndsWith(app, id string) bool { return s != nil && s.sessions[sessionKey{app, id}] }

// Len is how many rules the set has.
func (s *Set) Len() (n int) {
	if s == nil {
		return 0
	}
	for _, index := range []map[string][]*compiledRule{s.byCall, s.byTool} {
		for _, some := range index {
			n += len(some)
		}
	}
	return n
}

// Decide returns the rule that answers the question, or nil. A deny goes before every
// allow, and of several the narrowest gives its name.
func (s *Set) Decide(c *Call, now schema.Millis) *schema.Rule {
	if s == nil || IneligibleReason(c) != "" {
		return nil
	}
	candidates := [3][]*compiledRule{s.byTool[c.Tool]}
	if len(s.byCall) > 0 {
		candidates[0], candidates[1], candidates[2] = s.byCall[c.callKey()], s.byCall[c.argumentsKey()], s.byTool[c.Tool]
	}
	var allow *compiledRule
	denyUnclear := false
	for _, group := range candidates {
		for _, r := range group {
			if allow != nil && r.Then == schema.ThenAllow || !r.isActive(c, now) {
				continue
			}
			switch verdict := r.evaluate(c); {
			case verdict == match && r.Then == schema.ThenDeny:
				return &r.Rule
			case verdict == match:
				allow = r
			case verdict == indeterminate && r.Then == schema.ThenDeny:
				denyUnclear = true
			}
		}
	}
	// Who allowed exactly this call looked at it, whatever else can't be told of it.
	if allow == nil || denyUnclear && allow.Call == "" {
		return nil
	}
	return &allow.Rule
}

// Match reports whether a rule that holds would answer the question.
func Match(r *schema.Rule, c *Call) bool {
	s, err := NewSet([]StoredRule{{Rule: *r, Since: r.CreatedAt}})
	return err == nil && s.Decide(c, r.CreatedAt) != nil
}

// isActive reports whether the rule is there for the question at all. A clock that shows
// a time before the rule was made was set back: how long the rule has held nobody knows.
func (r *compiledRule) isActive(c *Call, now schema.Millis) bool {
	switch {
	case r.SessionID != "" && (r.SessionID != c.Session || r.SourceApp != c.App):
		return false
	case r.SourceApp != "" && r.SourceApp != c.App, r.Tool != c.Tool:
		return false
	case c.ID != 0 && c.ID <= r.After, r.RevokedAt != 0:
		return false
	case r.ExpiresAt != 0 && (now >= r.ExpiresAt || now < r.Since-clockSkew):
		return false
	default:
		return true
	}
}

// clockSkew is how far clocks get away from each other without anybody's doing, in ms.
const clockSkew = 5000

// evaluate holds a rule that is in force against a call.
func (r *compiledRule) evaluate(c *Call) matchResult {
	if c.Redacted && (r.Then == schema.ThenAllow || r.Call != "") || r.broken {
		return indeterminate
	}
	if r.Cwd != "" {
		c.decodeArguments()
		if c.workingDir == "" {
			return indeterminate
		}
		if !isWithin(c.workingDir, r.Cwd) {
			return noMatch
		}
	}
	result := match
	for i := range r.when {
		if result = min(result, r.when[i].evaluate(c)); result == noMatch {
			return noMatch
		}
	}
	if result == match && len(r.when) == 0 && r.Call == "" && r.Then == schema.ThenAllow && len(c.Arguments) > 0 {
		if c.decodeArguments(); c.args == nil {
			return indeterminate
		}
	}
	return result
}
