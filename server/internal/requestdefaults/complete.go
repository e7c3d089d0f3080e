package requestdefaults

import (
	"slices"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/question"
)

// The settings complete a question that does not state its deadline, its recipients, or as many
// approvals. The members that an agent states are never replaced, and a setting never makes a question undecidable:
// if too few of its people may answer, everyone may, and if that does not suffice, fewer approvals are
// needed, but never fewer than the agent requires. The status of the question reports it.

const selectedMembers = "selected_members"

// approvers are recipients and a number of approvals; nil and 0 are as stated.
type approvers struct {
	to      *schema.Recipients
	n       int
	reduced bool // less than the settings require
}

// Complete implements question.Defaults.
func (s *Settings) Complete(
	q *schema.HumanInTheLoop, about *question.Call, class schema.Class, risk schema.Risk,
) (forms []question.CompletedAsk) {
	d := s.of(q.Type, about, class, risk)
	ask, hasTimeout, reduced := *q, false, false
	if q.Timeout == nil && d.TimeoutSeconds != nil {
		seconds := float64(*d.TimeoutSeconds)
		ask.Timeout, hasTimeout = &seconds, true
		if ask.Validate() != nil { // such as a reminder without a deadline
			ask.Timeout, hasTimeout, reduced = nil, false, true
		}
	}
	for _, a := range s.approverOptions(q, &d) {
		form := question.CompletedAsk{Ask: ask, Applied: &schema.AppliedDefaults{Members: []string{}, Reduced: reduced || a.reduced}}
		if hasTimeout {
			form.Applied.Members = append(form.Applied.Members, "timeout")
		}
		if a.to != nil {
			form.Ask.Recipients = a.to
			form.Applied.Members = append(form.Applied.Members, "recipients")
		}
		if a.n > 0 {
			form.Ask.RequiredApprovals = a.n
			form.Applied.Members = append(form.Applied.Members, "requiredApprovals")
		}
		if len(form.Applied.Members) == 0 && !form.Applied.Reduced {
			form.Applied = nil
		}
		forms = append(forms, form)
	}
	return forms
}

// approverOptions returns the recipients and approvals of the settings, then their replacements, and at
// last those of the question.
func (s *Settings) approverOptions(q *schema.HumanInTheLoop, d *control.RequestDefault) (options []approvers) {
	least := max(q.RequiredApprovals, 1)
	n := d.RequiredApprovals
	if n <= least || q.Type == schema.FreeText || q.AllowOther {
		n = 0
	}
	var to, everyone *schema.Recipients
	isReduced := false
	isNarrowed := isNarrowing(q.Recipients)
	if q.Recipients == nil || isNarrowed {
		to, isReduced = s.available(d.Recipients)
		everyone = &schema.Recipients{Mode: "anyone", Owners: isNarrowed || d.Recipients != nil && d.Recipients.Owners}
	}
	if isNarrowed { // the people of the settings, or those of a quorum without recipients
		if to == nil && n > 0 {
			to = &schema.Recipients{Mode: "owner_admins"}
		}
		if to != nil {
			to = &schema.Recipients{Mode: to.Mode, Members: to.Members, Owners: true}
		}
	}
	if to != nil || n > 0 {
		options = append(options, approvers{to, n, isReduced})
		isReduced = true
	}
	for m := n; m > least; m-- {
		options = append(options, approvers{everyone, m, true})
	}
	if to != nil && n > 0 {
		options = append(options, approvers{to, 0, true})
	}
	return append(options, approvers{reduced: isReduced})
}

// isNarrowing reports whether a question names the owners of its files and no one else.
func isNarrowing(r *schema.Recipients) bool {
	return r != nil && r.Owners && (r.Mode == "" || r.Mode == "anyone")
}

// available returns the recipients who may answer now, nil for none, and whether some may not.
func (s *Settings) available(r *schema.Recipients) (to *schema.Recipients, reduced bool) {
	if r == nil || r.Mode != selectedMembers {
		return r, false
	}
	members := slices.DeleteFunc(slices.Clone(r.Members), func(name string) bool {
		_, err := s.people.ResolveRecipients(&schema.Recipients{Mode: selectedMembers, Members: []string{name}})
		return err != nil
	})
	if len(members) == 0 {
		return nil, true
	}
	return &schema.Recipients{Mode: selectedMembers, Members: members, Owners: r.Owners}, len(members) < len(r.Members)
}
