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

// maxQuotedBytes is how much of a person's edit is quoted in a reason.
const maxQuotedBytes = 4 << 10

// adaptVerdict is v as the agent can take it at this call: what it can't say becomes
// the nearest that approves nothing. A denial or a question comes with a reason,
// an edit is an object.
func (c *Call) adaptVerdict(v Verdict) Verdict {
	if c.Point == Observe {
		return Verdict{}
	}
	switch v.Effect {
	case Allow:
		return c.adaptAllow(v)
	case Deny:
		v.Reason = cmp.Or(trimReason(v.Reason), "Denied in Hookback; no reason was given.")
		if !c.Capabilities.Has(CanDeny) {
			return Verdict{}
		}
	case Ask:
		v.Reason = cmp.Or(trimReason(v.Reason), "Hookback asks for a decision.")
		switch {
		case c.Capabilities.Has(CanAsk):
		case c.Point == Gate && c.Capabilities.Has(CanDeny):
			// Silence would run it unless the agent's own settings happen to ask.
			return newDenial("This needs a person's decision, and there is no way to ask for it here. " + v.Reason)
		default:
			return Verdict{}
		}
	default:
		return Verdict{}
	}
	return Verdict{Effect: v.Effect, Reason: v.Reason}
}

func (c *Call) adaptAllow(v Verdict) Verdict {
	if isObject(v.Arguments) && c.args != nil && bytes.Equal(canonicalJSON(decodeMembers(v.Arguments)), canonicalJSON(c.args)) {
		v.Arguments = nil // nothing was changed
	}
	switch {
	case len(v.Answers) > 0 && !c.Capabilities.Has(CanAnswer):
		return c.denyWith("A person answered: " + formatAnswers(v.Answers) + ". This could not be passed on as an answer, so nothing was run.")
	case len(v.Arguments) > 0 && !isObject(v.Arguments):
		return c.denyWith("A person approved this with changed arguments that could not be read. Nothing was run.")
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

// isSuggestion reports whether it is one of the agent's own offers to remember the
// answer. Without one a yes holds once.
func (c *Call) isSuggestion(remember json.RawMessage) bool {
	return c.Capabilities.Has(CanRemember) && isObject(remember) && slices.ContainsFunc(c.Ask.Suggestions, func(s json.RawMessage) bool {
		return bytes.Equal(canonicalJSON(decodeMembers(s)), canonicalJSON(decodeMembers(remember)))
	})
}

// denyEdit denies a call that was approved with changes which the agent can't run
// exactly as they are.
func (c *Call) denyEdit(arguments json.RawMessage) Verdict {
	return c.denyWith("A person approved this with changed arguments, which can't be passed on here, so nothing was run. Call it again with: " +
		clip(compactJSON(arguments), maxQuotedBytes))
}

// denyWith is a denial with that reason where one can be given.
func (c *Call) denyWith(reason string) Verdict {
	if !c.Capabilities.Has(CanDeny) {
		return Verdict{}
	}
	return newDenial(reason)
}

func newDenial(reason string) Verdict { return Verdict{Effect: Deny, Reason: trimReason(reason)} }

// trimReason keeps a reason as long as every agent takes it.
func trimReason(reason string) string { return strings.TrimSpace(clip(reason, 8<<10)) }

func isObject(raw json.RawMessage) bool {
	var o object
	return json.Unmarshal(raw, &o) == nil && o != nil
}

func formatAnswers(answers map[string][]string) string {
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(answers)) {
		parts = append(parts, fmt.Sprintf("%s: %s", id, strings.Join(answers[id], ", ")))
	}
	return clip(strings.Join(parts, "; "), maxQuotedBytes)
}

// checkMergeSafe is v for an agent that may merge an edit into the call's arguments: what
// has all their members runs the same as if it stood in their place. Another edit is
// not passed on.
func (c *Call) checkMergeSafe(v Verdict) Verdict {
	if v.Effect == Allow && v.Arguments != nil && !c.keepsAllArguments(v.Arguments) {
		return c.denyEdit(v.Arguments)
	}
	return v
}

// keepsAllArguments reports whether arguments has every member that the call's arguments
// have. An agent that merges an edit into them would run one that was taken out.
func (c *Call) keepsAllArguments(arguments json.RawMessage) bool {
	after := decodeMembers(arguments)
	for name := range c.args {
		if !after.has(name) {
			return false
		}
	}
	return true
}

// changesOnlyMember reports whether arguments differs from the call's arguments in that member
// alone.
func (c *Call) changesOnlyMember(member string, arguments json.RawMessage) bool {
	before, after := maps.Clone(c.args), decodeMembers(arguments)
	before[member] = after[member]
	return bytes.Equal(canonicalJSON(before), canonicalJSON(after))
}

// canonicalJSON is an object in one order of its members; numbers keep their digits.
func canonicalJSON(o object) []byte {
	var v any
	d := json.NewDecoder(bytes.NewReader(encodeJSON(o)))
	d.UseNumber()
	_ = d.Decode(&v)
	return encodeJSON(v)
}

func decodeMembers(raw json.RawMessage) object {
	o := object{}
	_ = json.Unmarshal(raw, &o)
	return o
}
