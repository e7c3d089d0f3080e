package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxQuoted is how much of a person's edit is quoted in a reason.
const maxQuoted = 4 << 10

// express is v as the agent can take it at this call: what it can't say becomes
// the nearest that approves nothing. A denial or a question comes with a reason,
// an edit is an object.
func (c *Call) express(v Verdict) Verdict {
	if c.Point == Observe {
		return Verdict{}
	}
	switch v.Effect {
	case Allow:
		return c.expressAllow(v)
	case Deny:
		v.Reason = cmp.Or(trim(v.Reason), "Denied in Hookback; no reason was given.")
		if !c.Capabilities.Has(CanDeny) {
			return Verdict{}
		}
	case Ask:
		v.Reason = cmp.Or(trim(v.Reason), "Hookback asks for a decision.")
		switch {
		case c.Capabilities.Has(CanAsk):
		case c.Point == Gate && c.Capabilities.Has(CanDeny):
			// Silence would run it unless the agent's own settings happen to ask.
			return refuse("This needs a person's decision, and there is no way to ask for it here. " + v.Reason)
		default:
			return Verdict{}
		}
	default:
		return Verdict{}
	}
	return Verdict{Effect: v.Effect, Reason: v.Reason}
}

func (c *Call) expressAllow(v Verdict) Verdict {
	if isObject(v.Arguments) && c.args != nil && bytes.Equal(sorted(membersOf(v.Arguments)), sorted(c.args)) {
		v.Arguments = nil // nothing was changed
	}
	switch {
	case len(v.Answers) > 0 && !c.Capabilities.Has(CanAnswer):
		return c.instead("A person answered: " + answersText(v.Answers) + ". This could not be passed on as an answer, so nothing was run.")
	case len(v.Arguments) > 0 && !isObject(v.Arguments):
		return c.instead("A person approved this with changed arguments that could not be read. Nothing was run.")
	case len(v.Arguments) > 0 && !(c.Capabilities.Has(CanEdit) && c.args != nil):
		return c.unedited(v.Arguments)
	case len(v.Arguments) == 0 && len(v.Answers) == 0 && !c.Capabilities.Has(CanAllow):
		return Verdict{}
	}
	if len(v.Arguments) == 0 {
		v.Arguments = nil
	}
	if !c.offered(v.Remember) {
		v.Remember = nil
	}
	return v
}

// offered reports whether it is one of the agent's own offers to remember the
// answer. Without one a yes holds once.
func (c *Call) offered(remember json.RawMessage) bool {
	return c.Capabilities.Has(CanRemember) && isObject(remember) && slices.ContainsFunc(c.Ask.Suggestions, func(s json.RawMessage) bool {
		return bytes.Equal(sorted(membersOf(s)), sorted(membersOf(remember)))
	})
}

// unedited denies a call that was approved with changes which the agent can't run
// exactly as they are.
func (c *Call) unedited(arguments json.RawMessage) Verdict {
	return c.instead("A person approved this with changed arguments, which can't be passed on here, so nothing was run. Call it again with: " +
		clip(compact(arguments), maxQuoted))
}

// instead is a denial with that reason where one can be given.
func (c *Call) instead(reason string) Verdict {
	if !c.Capabilities.Has(CanDeny) {
		return Verdict{}
	}
	return refuse(reason)
}

func refuse(reason string) Verdict { return Verdict{Effect: Deny, Reason: trim(reason)} }

// trim keeps a reason as long as every agent takes it.
func trim(reason string) string { return strings.TrimSpace(clip(reason, 8<<10)) }

func isObject(raw json.RawMessage) bool {
	var o object
	return json.Unmarshal(raw, &o) == nil && o != nil
}

func answersText(answers map[string][]string) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		parts = append(parts, fmt.Sprintf("%s: %s", id, strings.Join(answers[id], ", ")))
	}
	return clip(strings.Join(parts, "; "), maxQuoted)
}

// mergeable is v for an agent that may merge an edit into the call's arguments: what
// has all their members runs the same as if it stood in their place. Another edit is
// not passed on.
func (c *Call) mergeable(v Verdict) Verdict {
	if v.Effect == Allow && v.Arguments != nil && !c.keepsMembers(v.Arguments) {
		return c.unedited(v.Arguments)
	}
	return v
}

// keepsMembers reports whether arguments has every member that the call's arguments
// have. An agent that merges an edit into them would run one that was taken out.
func (c *Call) keepsMembers(arguments json.RawMessage) bool {
	after := membersOf(arguments)
	for name := range c.args {
		if !after.has(name) {
			return false
		}
	}
	return true
}

// changesOnly reports whether arguments differs from the call's arguments in that member
// alone.
func (c *Call) changesOnly(member string, arguments json.RawMessage) bool {
	before, after := maps.Clone(c.args), membersOf(arguments)
	before[member] = after[member]
	return bytes.Equal(sorted(before), sorted(after))
}

// sorted is an object in one order of its members; numbers keep their digits.
func sorted(o object) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(encode(o)))
	d.UseNumber()
	_ = d.Decode(&v)
	return encode(v)
}

func membersOf(raw json.RawMessage) object {
	o := object{}
	_ = json.Unmarshal(raw, &o)
	return o
}
