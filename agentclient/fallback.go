package agentclient

import (
	"fmt"

	"github.com/hookback/hookback/schema"
)

// Fallback is what Ask decides when no hub takes the question. It never applies
// once a hub has it: nobody answering in time is a timeout, and a malformed
// answer is a denial, whatever the Fallback.
type Fallback string

// The fallbacks. Deny is the default, of Options; a Request without one has its
// client's.
const (
	// Deny decides no, without an error.
	Deny Fallback = "deny"
	// Allow decides yes for a permission, with Source NoHub. The version 1 text
	// asks for this; only choose it where a mistake costs nothing. Where several people
	// have to agree, or the risk is high or critical, it is Deny.
	Allow Fallback = "allow"
	// Fail decides no and returns an error, ErrUnreachable. It also makes a
	// malformed answer an error, ErrMalformed.
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

// effectiveFor is the fallback of a question: what several people have to agree to, or what is
// risky, no option allows in a person's place.
func (f Fallback) effectiveFor(q *schema.HumanInTheLoop) Fallback {
	if f == Allow && (q.RequiredApprovals > 1 || q.Risk == schema.HighRisk || q.Risk == schema.CriticalRisk) {
		return Deny
	}
	return f
}

// unreachableDecision is the decision without a hub.
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
		d.Guidance = "No hub could be reached, so no person has seen this question. It was allowed by the OnUnreachable option."
	}
	return d, nil
}

// malformedDecision is the decision when an answer came that can't be read.
func (f Fallback) malformedDecision(d Decision, cause error) (Decision, error) {
	d.Outcome, d.Source = Malformed, BadAnswer
	d.Guidance = "An answer arrived that does not answer the question, so it counts as a no. Nothing was approved."
	if f == Fail {
		return d, fmt.Errorf("%w: %w", ErrMalformed, cause)
	}
	return d, nil
}
