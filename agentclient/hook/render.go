package hook

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
)

// maxQuotedBytes limits a person's edit or answers when a reason quotes them.
const maxQuotedBytes = 4 << 10

// adaptVerdict reduces v to the capabilities of the agent at this call. An effect that the
// agent can't express becomes the closest one that approves nothing. In the result,
// Deny and Ask have a reason and Arguments are nil or an object.
func (c *Call) adaptVerdict(v Verdict) Verdict {
	if c.Point == Observe {
		return Verdict{}
	}
	switch v.Effect {
	case Allow:
		return c.adaptAllow(v)
	case Deny:
		v.Reason = cmp.Or(trimReason(v.Reason), "Denied in Hookback. No reason was given.")
		if !c.Capabilities.Has(CanDeny) {
			return Verdict{}
		}
	case Ask:
		v.Reason = cmp.Or(trimReason(v.Reason), "Hookback requires a person's decision.")
		switch {
		case c.Capabilities.Has(CanAsk):
		case c.Point == Gate && c.Capabilities.Has(CanDeny):
			// Without an answer the call runs, unless the agent's own settings ask.
			return newDenial("This call needs a person's decision, and no one can be asked here. It was not run. " + v.Reason)
		default:
			return Verdict{}
		}
	default:
		return Verdict{}
	}
	return Verdict{Effect: v.Effect, Reason: v.Reason}
}

func (c *Call) adaptAllow(v Verdict) Verdict {
	if c.args != nil && schema.EqualJSON(v.Arguments, c.Tool.Arguments) {
		v.Arguments = nil // not an edit
	}
	switch {
	case len(v.Answers) > 0 && !c.Capabilities.Has(CanAnswer):
		return c.denyWith("A person answered: " + formatAnswers(v.Answers, maxQuotedBytes) + ". The answer could not be passed on, so nothing was run.")
	case len(v.Arguments) > 0 && !isObject(v.Arguments):
		return c.denyWith("A person approved this call with changed arguments that are not a JSON object. Nothing was run.")
	case len(v.Arguments) > 0 && !(c.Capabilities.Has(CanEdit) && c.args != nil):
		return c.denyEdit(v.Arguments)
	case len(v.Arguments) == 0 && len(v.Answers) == 0 && !c.Capabilities.Has(CanAllow):
		return Verdict{}
	}
	if len(v.Arguments) == 0 {
		v.Arguments = nil
	}
	if !c.isSuggestion(v.Remember) {
		v.Remember = nil
	}
	return v
}

// isSuggestion reports whether remember is one of the agent's own "always allow"
// suggestions. Otherwise an approval applies to this call only.
func (c *Call) isSuggestion(remember json.RawMessage) bool {
	return c.Capabilities.Has(CanRemember) && isObject(remember) && slices.ContainsFunc(c.Ask.Suggestions, func(s json.RawMessage) bool {
		return schema.EqualJSON(s, remember)
	})
}

// denyEdit denies a call that was approved with an edit, because the agent can't run
// exactly these arguments.
func (c *Call) denyEdit(arguments json.RawMessage) Verdict {
	return c.denyWith("A person approved this call with changed arguments, which can't be applied here. Nothing was run. Call it again with: " +
		clip(compactJSON(arguments), maxQuotedBytes))
}

// denyWith returns a denial with that reason, or no opinion if the agent takes none.
func (c *Call) denyWith(reason string) Verdict {
	if !c.Capabilities.Has(CanDeny) {
		return Verdict{}
	}
	return newDenial(reason)
}

func newDenial(reason string) Verdict { return Verdict{Effect: Deny, Reason: trimReason(reason)} }

// trimReason cuts a reason to a length that every agent accepts.
func trimReason(reason string) string { return strings.TrimSpace(clip(reason, 8<<10)) }

func isObject(raw json.RawMessage) bool {
	var o object
	return json.Unmarshal(raw, &o) == nil && o != nil
}

// checkMergeSafe returns v for an agent that may merge an edit into the original
// arguments. An edit that lacks a member of the original would run with that member,
// so it becomes a denial.
func (c *Call) checkMergeSafe(v Verdict) Verdict {
	if v.Effect == Allow && v.Arguments != nil && !c.keepsAllArguments(v.Arguments) {
		return c.denyEdit(v.Arguments)
	}
	return v
}

// keepsAllArguments reports whether arguments has every member of the original
// arguments.
func (c *Call) keepsAllArguments(arguments json.RawMessage) bool {
	edited := decodeMembers(arguments)
	for name := range c.args {
		if !edited.has(name) {
			return false
		}
	}
	return true
}

// changesOnlyMember reports whether arguments differs from the original arguments in
// that member only.
func (c *Call) changesOnlyMember(member string, arguments json.RawMessage) bool {
	original := maps.Clone(c.args)
	original[member] = decodeMembers(arguments)[member]
	return schema.EqualJSON(encodeJSON(original), arguments)
}

func decodeMembers(raw json.RawMessage) object {
	o := object{}
	_ = json.Unmarshal(raw, &o)
	return o
}
