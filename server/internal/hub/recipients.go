package hub

import (
	"context"
	"fmt"
	"slices"

	"github.com/hookback/hookback/schema"
)

// resolveRecipients returns the people that a question is addressed to, as of now:
// accounts created later are not included. Nil means everyone who may answer. It
// rejects a question that these people can't decide, because that could only end at its
// deadline.
func (h *Hub) resolveRecipients(q *schema.HumanInTheLoop, caller Caller) ([]string, error) {
	to := q.Recipients
	named := to != nil && to.Mode != "" && to.Mode != "anyone"
	switch {
	case q.RequiredApprovals <= 1 && !named:
		return nil, nil
	case to == nil || to.Mode == "":
		to = &schema.Recipients{Mode: "owner_admins"}
	}
	if !h.People.HasOwner() {
		return nil, &schema.HintError{
			Err:  invalidField("humanInTheLoop."+recipientField(named), "requires accounts, and this hub has none yet"),
			Hint: "Open the sign-in link that the hub printed when it started (a restart prints a new one), invite others under Settings, People, then ask again.",
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
	if requester := caller.Identity; requester.IsAuthenticated() && (q.ExcludeRequester == nil || *q.ExcludeRequester) {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == requester.Requester() })
	}
	switch n := len(names); {
	case n == 0:
		return nil, invalidField("humanInTheLoop.recipients", "leaves no one who may answer; the requester is excluded unless excludeRequester is false")
	case n > schema.MaxRecipients:
		return nil, invalidField("humanInTheLoop.recipients", "has more than %d people", schema.MaxRecipients)
	case q.RequiredApprovals > n:
		return nil, &schema.HintError{
			Err:  invalidField("humanInTheLoop.requiredApprovals", "is %d, but only %s may vote", q.RequiredApprovals, personCount(n)),
			Hint: "Require fewer approvals or add recipients.",
		}
	}
	if everyone {
		return nil, nil // each account that exists now (isLaterAccount)
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

// operatorNames returns the names of all accounts that may answer.
func (h *Hub) operatorNames() (names []string) {
	for _, p := range h.People.Accounts(context.Background()) {
		if p.Role == schema.Operator || p.Role == schema.Admin {
			names = append(names, p.Name)
		}
	}
	return names
}
