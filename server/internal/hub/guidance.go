package hub

import (
	"fmt"
	"strings"

	"github.com/hookback/hookback/schema"
)

// guidanceText is one sentence that tells a model what the answer means.
func guidanceText(q *schema.HumanInTheLoop, a *schema.Answer) string {
	reason := reasonText(a)
	subject := "A person"
	if a.RequiredApprovals > 1 {
		subject = fmt.Sprintf("%d people", a.RequiredApprovals)
	}
	switch {
	case a.Outcome == schema.NoQuorum:
		return fmt.Sprintf("People voted and did not agree: no choice got the %d votes it needed (%s). Nothing was approved: do not go ahead with it, and say that there was no agreement.",
			a.RequiredApprovals, voteSummary(a.Votes))
	case a.Outcome == schema.Timeout && len(a.Votes) > 0:
		return fmt.Sprintf("Not enough people agreed in time: %d had to (%s). This is not a refusal, and nothing was approved: do not go ahead with it, and say that you could not get an answer.",
			max(a.RequiredApprovals, 1), voteSummary(a.Votes))
	case a.Outcome == schema.Timeout && q.OnTimeout == schema.FailRun:
		return "Nobody answered in time. This is not a refusal, and nothing was approved. Without an answer this run must not go on: stop here, and say so."
	case a.Outcome == schema.Timeout:
		return "Nobody answered in time. This is not a refusal, and nothing was approved: do not go ahead with it, and say that you could not get an answer."
	case a.Source == schema.BySessionEnd:
		return "The session ended before anyone answered. Nothing was approved."
	case a.Outcome == schema.Cancelled && a.Source == schema.ByAgent:
		return "This was decided without the hub: " + a.Reason + ". Nothing was approved here."
	case a.Source == schema.ByOrphaned:
		return "The program that asked did not wait any more. Nothing was approved."
	case a.Outcome == schema.Cancelled:
		return "A person cancelled the question without answering it. Nothing was approved: do not go ahead with it." + reason
	case a.Outcome == schema.Withdrawn:
		return "The question was taken back. Nothing was approved."
	case q.Type != schema.Permission:
		return subject + " answered your question." + reason
	case a.Outcome == schema.Deny:
		return subject + " refused this. Nothing was run: do not try to reach the same end another way." + reason
	case a.ModifiedArguments != nil:
		return subject + " approved this with changed arguments. Run it with the arguments in modifiedArguments, not with your own." + reason
	default:
		return subject + " approved exactly this." + reason
	}
}

// maxGuidanceComments is how many bytes of what several people said a guidance repeats; all of it
// stands in the votes.
const maxGuidanceComments = 2 << 10

// reasonText are those of the one who answered, or of each who voted for what won.
func reasonText(a *schema.Answer) string {
	if a.RequiredApprovals <= 1 || a.Outcome == schema.Cancelled {
		if a.Reason == "" {
			return ""
		}
		return " The reason given: " + a.Reason
	}
	var comments []string
	room := maxGuidanceComments
	for _, v := range a.Votes {
		if room -= len(v.Comment); v.Comment != "" && v.Choice == string(a.Outcome) && room >= 0 {
			comments = append(comments, v.User+": "+v.Comment)
		}
	}
	if len(comments) == 0 {
		return ""
	}
	return " What they said: " + strings.Join(comments, "; ")
}

// voteSummary is how many votes each choice got, in the order they came up.
func voteSummary(votes []schema.Vote) string {
	var order []string
	counts := map[string]int{}
	for _, v := range votes {
		if counts[v.Choice]++; counts[v.Choice] == 1 {
			order = append(order, v.Choice)
		}
	}
	for i, choice := range order {
		order[i] = fmt.Sprintf("%s %d", choice, counts[choice])
	}
	return strings.Join(order, ", ")
}
