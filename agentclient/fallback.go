package agentclient

import (
	"errors"
	"fmt"

	"github.com/hookback/hookback/schema"
)

// Fallback selects the decision when no hub accepts a question. It does not apply once
// a hub has stored the question: then a missing answer is a timeout and a malformed
// answer a denial.
type Fallback string

// Fallbacks. An empty Request.OnUnreachable means that of Options, whose default is
// Deny.
const (
	// Deny approves nothing and returns no error.
	Deny Fallback = "deny"
	// Allow approves permissions, with Source NoHub. Version 1 of the protocol
	// specifies this. Use it only if a wrong approval does no harm. For questions with
	// a quorum, and with high or critical risk, Allow means Deny. If a hub is pinned, it
	// means Deny unless one of the client's addresses has a pin.
	Allow Fallback = "allow"
	// Fail approves nothing and returns ErrUnreachable. It also turns a malformed answer into an
	// error, ErrMalformed.
	Fail Fallback = "fail"
)

func (f Fallback) validate() error {
	switch f {
	case Deny, Allow, Fail:
		return nil
	default:
		return fmt.Errorf("%w: OnUnreachable is %q; it must be deny, allow or fail", schema.ErrInvalid, string(f))
	}
}

// effectiveFor returns the fallback of a question. A quorum or a high risk requires
// people, so Allow becomes Deny.
func (f Fallback) effectiveFor(q *schema.HumanInTheLoop) Fallback {
	if f == Allow && (q.RequiredApprovals > 1 || q.Risk == schema.HighRisk || q.Risk == schema.CriticalRisk) {
		return Deny
	}
	return f
}

// unreachableDecision returns the decision without a hub.
func (f Fallback) unreachableDecision(kind schema.Kind, cause error) (Decision, error) {
	d := Decision{
		Kind: kind, Outcome: Unreachable, Source: NoHub,
		Guidance: "No hub could be reached, so no person has seen this question. Nothing was approved.",
	}
	switch {
	case f == Fail:
		return d, fmt.Errorf("the question was not asked: %w", cause)
	case f == Allow && kind == schema.Permission:
		d.Outcome = schema.Approve
		d.Guidance = "Allowed by the OnUnreachable setting. No hub could be reached, so no person has seen this question."
	}
	return d, nil
}

// malformedDecision returns the decision after an answer that does not fit.
func (f Fallback) malformedDecision(d Decision, cause error) (Decision, error) {
	d.Outcome, d.Source = Malformed, BadAnswer
	d.Guidance = "The answer does not fit the question, so it counts as a denial. Nothing was approved."
	if seal := (*sealError)(nil); errors.As(cause, &seal) {
		d.Reason = seal.Error()
		d.Guidance = "The answer does not come from the hub that this account trusts, or is not for this question. Nothing was approved. Do not go ahead; report this to the user."
	}
	if f == Fail {
		return d, fmt.Errorf("%w: %w", ErrMalformed, cause)
	}
	return d, nil
}
