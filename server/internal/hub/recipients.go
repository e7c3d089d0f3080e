package hub

import (
	"context"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
)

// resolveRecipients are the people whom a question is put to, as they are now: who becomes one
// later is none of them. nil: anyone who may answer at all. A question that they can't
// decide is refused: it would only ever end by its deadline.
func (h *Hub) resolveRecipients(q *schema.HumanInTheLoop, caller Caller) ([]string, error) {
	to := q.Recipients
	named := to != nil && to.Mode != "" && to.Mode != "anyone"
	switch {
	case q.RequiredApprovals <= 1 && !named:
		return nil, nil
	case to == nil || to.Mode == "":
		to = &schema.Recipients{Mode: "owner_admins"}
	}
	if !h.People.Owned() {
		return nil, &schema.HintError{
			Err:  invalidField("humanInTheLoop."+recipientField(named), "needs people whom the hub knows: it knows nobody yet"),
			Hint: "Open the sign-in link that the hub printed when it started (a restart prints a fresh one), invite the others under Settings, People, then ask again.",
		}
	}
	names, err := h.People.ResolveRecipients(to)
	if err != nil {
		return nil, err
	}
	everyone := names == nil
	if everyone {
		names = h.operatorNames()
	}
	if requester := caller.Who; requester.Known() && (q.ExcludeRequester == nil || *q.ExcludeRequester) {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == requester.Requester() })
	}
	switch n := len(names); {
	case n == 0:
		return nil, invalidField("humanInTheLoop.recipients", "leaves nobody who may answer: who asks is not one of them unless excludeRequester is false")
	case n > schema.MaxRecipients:
		return nil, invalidField("humanInTheLoop.recipients", "are more than %d people", schema.MaxRecipients)
	case q.RequiredApprovals > n:
		return nil, &schema.HintError{
			Err:  invalidField("humanInTheLoop.requiredApprovals", "is %d, but only %s may vote", q.RequiredApprovals, personCount(n)),
			Hint: "Ask for fewer approvals, or of more people.",
		}
	}
	if everyone {
		return nil, nil // whoever signs in later may vote, too
	}
	return names, nil
}

func recipientField(byRecipients bool) string {
	if byRecipients {
		return "recipients.mode"
	}
	return "requiredApprovals"
}

func personCount(n int) string {
	if n == 1 {
		return "1 person"
	}
	return fmt.Sprintf("%d people", n)
}

// operatorNames are the names of all who may answer.
func (h *Hub) operatorNames() (names []string) {
	for _, p := range h.People.Accounts(context.Background()) {
		if p.Role == schema.Operator || p.Role == schema.Admin {
			names = append(names, p.Name)
		}
	}
	return names
}
