package question

import (
	"fmt"
	"strings"

	"github.com/hookback/hookback/schema"
)

// guidanceText returns the instructions for the model: the meaning of the answer and
// the next step.
func guidanceText(q *schema.HumanInTheLoop, a *schema.Answer) string {
	reason := reasonText(a)
	subject := "A person"
	if a.RequiredApprovals > 1 {
		subject = fmt.Sprintf("%d people", a.RequiredApprovals)
	}
	switch {
	case a.Outcome == schema.NoQuorum && a.Reason != "":
		return "The vote ended without agreement: " + a.Reason + " Nothing was approved. Do not go ahead; report that there was no agreement."
	case a.Outcome == schema.NoQuorum:
		return fmt.Sprintf("The vote ended without agreement: no choice got the required %d votes (%s). Nothing was approved. Do not go ahead; report that there was no agreement.",
			a.RequiredApprovals, voteSummary(a.Votes))
	case a.Outcome == schema.Timeout && len(a.Votes) > 0:
		return fmt.Sprintf("Not enough people agreed in time: %d had to agree (%s). This is not a refusal, but nothing was approved. Do not go ahead; report that you got no answer.",
			max(a.RequiredApprovals, 1), voteSummary(a.Votes))
	case a.Outcome == schema.Timeout && q.OnTimeout == schema.FailRun:
		return "No one answered in time. This is not a refusal, but nothing was approved. This run must not continue without an answer: stop here and report it."
	case a.Outcome == schema.Timeout:
		return "No one answered in time. This is not a refusal, but nothing was approved. Do not go ahead; report that you got no answer."
	case a.Source == schema.BySuperseded:
		return "The agent asked another question of this kind, so this one was closed without an answer. Nothing was approved."
	case a.Source == schema.BySessionEnd:
		return "The session ended before anyone answered. Nothing was approved."
	case a.Source == schema.ByDismissal:
		return "A person dismissed this in the agent without an answer. Nothing was approved. Do not try again unless they ask for it."
	case a.Outcome == schema.Cancelled && a.Source == schema.ByAgent:
		return "This was decided outside the hub: " + a.Reason + ". Nothing was approved here."
	case a.Source == schema.ByOrphaned:
		return "The agent that asked is gone. Nothing was approved."
	case a.Outcome == schema.Cancelled:
		return "A person canceled the question without answering it. Nothing was approved. Do not go ahead." + reason
	case a.Outcome == schema.Withdrawn:
		return "The agent withdrew the question. Nothing was approved."
	case q.Type != schema.Permission:
		return subject + " answered your question." + reason
	case a.Source == schema.ByFreeze:
		return a.Reason + " Nothing ran. Wait for a person."
	case a.AskBack != "":
		return subject + " did not decide this yet and has a question. Nothing was run. Answer this question, then try the same call again: " + a.AskBack + reason
	case a.Outcome == schema.Deny:
		return subject + " denied this. Nothing was run. Do not try to achieve the same result another way." + reason
	case a.ModifiedArguments != nil:
		return subject + " approved this with changed arguments. Run it with the arguments in modifiedArguments, not with your own." + reason
	default:
		return subject + " approved exactly this." + reason
	}
}

// maxGuidanceComments limits the bytes of voters' comments in the guidance. The votes
// of the answer contain all of them.
const maxGuidanceComments = 2 << 10

// reasonText returns the reason of the responder, or the comments of the people who
// voted for the outcome. It is empty if there are none.
func reasonText(a *schema.Answer) string {
	if a.RequiredApprovals <= 1 || a.Outcome == schema.Cancelled {
		if a.Reason == "" {
			return ""
		}
		return " The reason given: " + a.Reason
	}
	var comments []string
	budget := maxGuidanceComments
	for _, v := range a.Votes {
		if budget -= len(v.Comment); v.Comment != "" && v.Choice == string(a.Outcome) && budget >= 0 {
			comments = append(comments, v.User+": "+v.Comment)
		}
	}
	if len(comments) == 0 {
		return ""
	}
	return " Their comments: " + strings.Join(comments, "; ")
}

// voteSummary returns the number of votes per choice, such as "approve 2, deny 1", in
// order of first appearance.
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

// setRuleGuidance names in an answer the rule that gave it.
func setRuleGuidance(answer *schema.Answer, rule *schema.Rule) {
	answer.Rule = &schema.RuleRef{ID: rule.ID, Text: rule.Text}
	reason := ""
	if answer.Reason != "" {
		reason = " The reason given: " + answer.Reason
	}
	if answer.Outcome == schema.Deny {
		answer.Guidance = fmt.Sprintf("A rule of %s denied this (%s). Nothing was run. Asking again changes nothing while the rule is active. Do not try to achieve the same result another way.%s", rule.CreatedBy, rule.Text, reason)
		return
	}
	answer.Guidance = fmt.Sprintf("A rule of %s approved exactly this (%s).%s", rule.CreatedBy, rule.Text, reason)
}
