package agentclient

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
)

// Fallback selects the decision when no hub accepts a question. It does not apply once
// a hub has stored the question: then a missing answer is a timeout and a malformed
// answer a denial.
type Fallback string

// Fallbacks. An empty Request.OnUnreachable means that of Options, whose default is Deny
// for permissions and Fail for all other kinds, which have no answer to return.
const (
	// Deny approves nothing and returns no error. Decision.Reason has the cause.
	Deny Fallback = "deny"
	// Allow approves permissions, with Source NoHub. Version 1 of the protocol
	// specifies this. Use it only if a wrong approval does no harm. For other kinds it
	// means Fail, and Deny for questions with a quorum, and with high or critical risk.
	// If a hub is pinned, it means Fail unless one of the client's addresses has a pin.
	Allow Fallback = "allow"
	// Fail approves nothing and returns ErrUnreachable. It also turns a malformed answer into an
	// error, ErrMalformed.
	Fail Fallback = "fail"
)

// fallback is the Fallback of one question.
type fallback struct {
	effect Fallback
	note   string // why it is not the chosen one
}

// fallbackFor returns the fallback of a question.
func (c *Client) fallbackFor(chosen Fallback, q *schema.HumanInTheLoop) (fallback, error) {
	trust, err := c.loadTrust()
	if err != nil {
		return fallback{}, err
	}
	chosen = cmp.Or(chosen, c.opts.OnUnreachable)
	switch {
	case !slices.Contains([]Fallback{"", Deny, Allow, Fail}, chosen):
		return fallback{}, fmt.Errorf("%w: OnUnreachable is %q; it must be deny, allow or fail", schema.ErrInvalid, string(chosen))
	case q.Type != schema.Permission && chosen != Deny:
		return fallback{effect: Fail}, nil
	case chosen == Allow && (q.RequiredApprovals > 1 || q.Risk == schema.HighRisk || q.Risk == schema.CriticalRisk):
		return fallback{Deny, "OnUnreachable is allow, but a question with a quorum or a high risk requires people."}, nil
	case chosen == Allow && !c.TrustsAddress(): // a dead port that the environment names allows nothing
		return fallback{Fail, "OnUnreachable is allow, but none of these addresses has a pin. " + c.remedy(trust)}, nil
	default:
		return fallback{effect: cmp.Or(chosen, Deny)}, nil
	}
}

// unreachableDecision returns the decision without a hub.
func (f fallback) unreachableDecision(kind schema.Kind, cause error) (Decision, error) {
	d := Decision{
		Kind: kind, Outcome: Unreachable, Source: NoHub, Reason: cause.Error(),
		Guidance: "No hub could be reached, so no person has seen this question. Nothing was approved.",
	}
	if f.note != "" {
		d.Reason += ". " + f.note
		d.Guidance += " " + f.note
	}
	switch f.effect {
	case Fail:
		if f.note != "" {
			cause = fmt.Errorf("%w. %s", cause, f.note)
		}
		return d, fmt.Errorf("the question was not asked: %w", cause)
	case Allow:
		d.Outcome = schema.Approve
		d.Guidance = "Allowed by the OnUnreachable setting. No hub could be reached, so no person has seen this question."
	}
	return d, nil
}

// malformedDecision returns the decision after an answer that does not fit.
func (f fallback) malformedDecision(d Decision, cause error) (Decision, error) {
	d.Outcome, d.Source = Malformed, BadAnswer
	d.Guidance = "The answer does not fit the question, so it counts as a denial. Nothing was approved."
	if seal := (*sealError)(nil); errors.As(cause, &seal) {
		d.Reason = seal.Error()
		d.Guidance = "The answer does not come from the hub that this account trusts, or is not for this question. Nothing was approved. Do not go ahead; report this to the user."
	}
	if f.effect == Fail {
		return d, fmt.Errorf("%w: %w", ErrMalformed, cause)
	}
	return d, nil
}
