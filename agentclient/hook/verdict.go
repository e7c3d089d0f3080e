package hook

import (
	"cmp"
	"encoding/json"

	"github.com/hookback/hookback/schema"
)

// VerdictOf returns the verdict for a hub's answer to the call's question. Only people,
// quorums, rules and freezes decide; any other resolution is Pass, so that the agent uses its
// own prompt.
func (c *Call) VerdictOf(a *schema.Answer) Verdict {
	kind := c.Ask.Type
	switch {
	case a.Source == schema.ByFreeze && a.Outcome == schema.Deny:
		return c.Frozen(a.Reason, a.Guidance, a.Interrupt)
	case a.Source != schema.ByHuman && a.Source != schema.ByRule && a.Source != schema.ByQuorum:
		return Verdict{}
	case a.Outcome == schema.NoQuorum:
		return Verdict{}
	case kind != schema.Permission:
		return Verdict{Effect: Allow, Reason: cmp.Or(a.Reason, a.Comment), Answers: decodeAnswers(a)}
	case a.Outcome == schema.Approve && a.Permission != nil && *a.Permission:
		return Verdict{Effect: Allow, Reason: cmp.Or(a.Reason, a.Comment), Arguments: a.ModifiedArguments, Remember: a.Remember}
	case a.Outcome == schema.Deny:
		return Denial(cmp.Or(a.Reason, a.Comment), a.Guidance, a.Interrupt)
	default:
		return Verdict{}
	}
}

// Denial returns a person's denial. With interrupt it ends the agent's turn, too.
func Denial(reason, guidance string, interrupt bool) Verdict {
	v := Verdict{Effect: Deny, Reason: DenialReason(reason, guidance)}
	if interrupt {
		v.StopReason = cmp.Or(reason, "Denied and stopped in Hookback.")
	}
	return v
}

// decodeAnswers returns the answers by question id. Each one is a list of labels or a
// single text.
func decodeAnswers(a *schema.Answer) map[string][]string {
	all := map[string][]string{}
	for id, raw := range a.Answers {
		var single string
		var multiple []string
		if json.Unmarshal(raw, &single) == nil {
			multiple = []string{single}
		} else if json.Unmarshal(raw, &multiple) != nil {
			continue
		}
		all[id] = multiple
	}
	switch {
	case a.Response != nil:
		all[""] = []string{*a.Response}
	case a.Choice != nil:
		all[""] = []string{*a.Choice}
	}
	return all
}
