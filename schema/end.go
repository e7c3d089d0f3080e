package schema

// The reasons with which a hook withdraws its question. They tell the hub how the question ended.
const (
	ReasonDismissed   = "dismissed in the agent"
	ReasonAgentGone   = "the agent is gone"
	ReasonOwnDeadline = "the agent stopped waiting at its own deadline"
)

// EndText returns how a question ended without an answer, in a few words, or "" if it has an answer or is
// pending.
func EndText(outcome Outcome, source EndedBy) string {
	switch {
	case outcome == Timeout:
		return "no one answered in time"
	case outcome == NoQuorum:
		return "ended without enough votes"
	case outcome == Withdrawn:
		return "withdrawn by the agent"
	case outcome != Cancelled:
		return ""
	}
	switch source {
	case ByDismissal:
		return "dismissed in the agent"
	case ByOrphaned:
		return "the agent is gone"
	case BySessionEnd:
		return "the session ended"
	case BySuperseded:
		return "replaced by a newer question"
	case ByAgent:
		return "settled at the agent"
	default:
		return "canceled"
	}
}
