package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/schema"
)

// StoredRule is a rule as stored.
type StoredRule struct {
	schema.Rule
	After schema.EventID // it answers questions with a greater id
	Since schema.Millis  // when it was made, on the current clock
}

// Set is a compiled set of rules, ready for matching. It is immutable. A nil Set is empty.
type Set struct {
	byCall   map[string][]*compiledRule // schema.Rule.Call → rules for exactly that call
	byTool   map[string][]*compiledRule // tool → all other rules
	sessions map[sessionKey]bool        // sessions at whose end a rule expires
	// allowances are the rules of the scope session.
	allowances map[sessionKey][]*compiledRule
}

type sessionKey struct{ app, id string }

type compiledRule struct {
	StoredRule
	when        []condition
	commands    commandRule
	broken      bool
	specificity int // smaller is more specific
}

// NewSet compiles rules. A rule that does not compile is reported in err and kept as
// indeterminate: it allows nothing, and as a deny it leaves the calls it may cover to a person.
func NewSet(list []StoredRule) (s *Set, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	s = &Set{
		byCall: map[string][]*compiledRule{}, byTool: map[string][]*compiledRule{}, sessions: map[sessionKey]bool{},
		allowances: map[sessionKey][]*compiledRule{},
	}
	for _, e := range list {
		c := &compiledRule{StoredRule: e, specificity: specificity(&e.Rule)}
		for i, condition := range e.When {
			cond, compileErr := compileCondition(e.Tool, condition, fmt.Sprintf("when.%d", i))
			if compileErr != nil {
				c.broken, err = true, fmt.Errorf("compile rule %d: %w", e.ID, compileErr)
			}
			cond.forAllow = e.Then == schema.ThenAllow
			c.when = append(c.when, cond)
		}
		if e.Then == schema.ThenAllow && e.Call == "" {
			c.commands = newCommandRule(&e.Rule, c.when)
		}
		if e.SessionID != "" {
			s.sessions[sessionKey{e.SourceApp, e.SessionID}] = true
		}
		if e.Scope == schema.ScopeSession {
			key := sessionKey{e.SourceApp, e.SessionID}
			s.allowances[key] = append(s.allowances[key], c)
		} else if e.Call != "" {
			s.byCall[e.Call] = append(s.byCall[e.Call], c)
		} else {
			s.byTool[e.Tool] = append(s.byTool[e.Tool], c)
		}
	}
	for _, index := range []map[string][]*compiledRule{s.byCall, s.byTool} {
		for _, group := range index {
			slices.SortFunc(group, func(a, b *compiledRule) int {
				return cmp.Or(cmp.Compare(a.specificity, b.specificity), cmp.Compare(a.ID, b.ID))
			})
		}
	}
	return s, err
}

// specificity orders rules by how little they cover: first by the call, then by the requester.
// Smaller is more specific.
func specificity(r *schema.Rule) int {
	callRank, reachRank := 3*(schema.MaxConditions+1), 3
	switch {
	case r.Call != "" && !strings.HasPrefix(r.Call, anyDirPrefix):
		callRank = 0
	case r.Call != "":
		callRank = 1
	case len(r.When) > 0:
		callRank = 2 + schema.MaxConditions - len(r.When)
	}
	switch {
	case r.SessionID != "":
		reachRank = 0
	case r.Cwd != "":
		reachRank = 1
	case r.SourceApp != "":
		reachRank = 2
	}
	return callRank*4 + reachRank
}

// HasSessionRule reports whether a rule of the set expires when the session ends.
func (s *Set) HasSessionRule(app, id string) bool { return s != nil && s.sessions[sessionKey{app, id}] }

// Len returns the number of rules in the set.
func (s *Set) Len() (n int) {
	if s == nil {
		return 0
	}
	for _, index := range []map[string][]*compiledRule{s.byCall, s.byTool} {
		for _, group := range index {
			n += len(group)
		}
	}
	for _, group := range s.allowances {
		n += len(group)
	}
	return n
}

// Decide returns the rule that answers the question, or nil. A deny takes precedence over every
// allow. The most specific of several rules with the same effect is returned.
func (s *Set) Decide(c *Call, now schema.Millis) *schema.Rule {
	if s == nil || IneligibleReason(c) != "" {
		return nil
	}
	candidates := [4][]*compiledRule{s.byTool[c.Tool], 3: s.allowances[sessionKey{c.App, c.Session}]}
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
			case verdict == matcher.Match && r.Then == schema.ThenDeny:
				return &r.Rule
			case verdict == matcher.Match:
				allow = r
			case verdict == matcher.Indeterminate && r.Then == schema.ThenDeny:
				denyUnclear = true
			}
		}
	}
	// A person saw exactly this call and allowed it, so an indeterminate deny does not matter.
	if allow == nil || denyUnclear && allow.Call == "" {
		return nil
	}
	return &allow.Rule
}

// Match reports whether a rule, if it is active, would answer the question.
func Match(r *schema.Rule, c *Call) bool {
	s, err := NewSet([]StoredRule{{Rule: *r, Since: r.CreatedAt}})
	return err == nil && s.Decide(c, r.CreatedAt) != nil
}

// isActive reports whether the rule applies to the question's session and tool at this time. If
// the clock shows a time before the rule was made, it was set back, and the age of the rule is
// unknown.
func (r *compiledRule) isActive(c *Call, now schema.Millis) bool {
	switch {
	case r.SessionID != "" && (r.SessionID != c.Session || r.SourceApp != c.App):
		return false
	case r.SourceApp != "" && r.SourceApp != c.App, r.Tool != c.Tool && r.Scope == "":
		return false
	case c.ID != 0 && c.ID <= r.After, r.RevokedAt != 0:
		return false
	case r.ExpiresAt != 0 && (now >= r.ExpiresAt || now < r.Since-clockSkew):
		return false
	default:
		return true
	}
}

// clockSkew is the tolerated difference between clocks, in ms.
const clockSkew = 5000

// evaluate tests an active rule against a call.
func (r *compiledRule) evaluate(c *Call) matcher.Verdict {
	if c.Redacted && (r.Then == schema.ThenAllow || r.Call != "") || r.broken {
		return matcher.Indeterminate
	}
	if r.Cwd != "" {
		c.decodeArguments()
		if c.workingDir == "" {
			return matcher.Indeterminate
		}
		if !paths.IsWithin(c.workingDir, r.Cwd) && !paths.IsWithin(c.mainDir(), r.Cwd) {
			return matcher.NoMatch
		}
	}
	if r.Scope == schema.ScopeSession {
		return matcher.MatchIf(isAllowable(c))
	}
	result := matcher.Match
	for i := range r.when {
		if result = min(result, r.when[i].evaluate(c)); result == matcher.NoMatch {
			return matcher.NoMatch
		}
	}
	if result != matcher.Match || r.Call != "" || r.Then != schema.ThenAllow {
		return result
	}
	if c.decodeArguments(); c.args == nil && len(c.Arguments) > 0 || r.commands.refusal(c) != "" {
		return matcher.Indeterminate
	}
	return matcher.Match
}
