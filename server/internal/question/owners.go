package question

import (
	"slices"
	"time"

	"github.com/hookback/hookback/schema"
)

// The owners of files decide a question with Recipients.Owners. Who owns them is a claim of the agent's machine, and
// the agent runs there. So it only takes people away from those whom the question addresses without it, and never
// lowers the approvals. Without an owner among these people, all of them are asked.

// fallbackAfter is when everyone may answer a question without a deadline in the quiet hours of its owners. With a
// deadline it is after half of the time.
const fallbackAfter = 10 * time.Minute

// WantsOwners reports whether q leaves the decision to the owners of its files.
func WantsOwners(q *schema.HumanInTheLoop) bool { return q.Recipients != nil && q.Recipients.Owners }

// hasOwners reports whether the question is addressed to owners of its files only.
func hasOwners(st *schema.Status) bool {
	return st.Owners != nil && st.Owners.State == schema.OwnersMatched && st.EscalatedAt == 0
}

// addressees returns the people that the question is addressed to, nil for everyone, and sets the match of owners.
func (p *Post) addressees(env *Environment, st *schema.Status) ([]string, error) {
	st.Owners = nil
	names, err := p.resolveRecipients(env)
	if err != nil || !WantsOwners(p.Ask) {
		return names, err
	}
	owners := ownersAmong(env, p.Ask, p.everyone(names))
	st.Owners = &schema.OwnerMatch{State: schema.OwnersMatched}
	switch stated := p.Ask.Context; {
	case stated == nil || stated.Owners == nil || len(stated.Owners.Files) == 0:
		st.Owners.State = schema.OwnersUnstated
	case len(owners) == 0:
		st.Owners.State = schema.OwnersUnknown
	case len(owners) < p.Ask.RequiredApprovals:
		st.Owners.State = schema.OwnersTooFew
	default:
		return owners, nil
	}
	return names, nil
}

// everyone returns the names of people who may answer: names, or every account but the requester's.
func (p *Post) everyone(names []string) []string {
	if names != nil {
		return names
	}
	return slices.DeleteFunc(slices.Clone(p.Approvers), func(name string) bool {
		return excludesRequester(p.Ask) && name == p.Requester
	})
}

// ownersAmong returns who of the people owns all files, or else one of them.
func ownersAmong(env *Environment, q *schema.HumanInTheLoop, people []string) []string {
	if q.Context == nil || q.Context.Owners == nil {
		return nil
	}
	var any, all []string
	for i, group := range q.Context.Owners.Files {
		of := slices.DeleteFunc(env.Accounts.PeopleOf(group.Owners), func(name string) bool { return !slices.Contains(people, name) })
		if i == 0 {
			all = of
		}
		all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !slices.Contains(of, name) })
		any = append(any, slices.DeleteFunc(of, func(name string) bool { return slices.Contains(any, name) })...)
	}
	if len(all) >= max(q.RequiredApprovals, 1) {
		return all
	}
	return any
}

// addFallback addresses the question to everyone else after a while if its owners have quiet hours. Messages about
// critical risk are sent in quiet hours too, and an escalation that the question states stays.
func (p *Post) addFallback(env *Environment, st *schema.Status, now time.Time) {
	q := p.Ask
	if st.Owners == nil || st.Owners.State != schema.OwnersMatched || st.Risk == schema.CriticalRisk || q.EscalateAfterSeconds > 0 {
		return
	}
	present := len(st.Recipients)
	for _, name := range st.Recipients {
		if p.IsAway != nil && p.IsAway(name) {
			present--
		}
	}
	base, err := p.resolveRecipients(env)
	everyone := p.everyone(base)
	if err != nil || present >= max(q.RequiredApprovals, 1) || len(everyone) == len(st.Recipients) || len(everyone) > schema.MaxRecipients {
		return
	}
	after := fallbackAfter
	if limit := q.TimeoutDuration(); limit > 0 {
		after = limit / 2
	}
	q.EscalateAfterSeconds = after.Seconds()
	q.EscalateTo = &schema.Recipients{Mode: "selected_members", Members: everyone}
	st.Owners.FallbackAt = schema.Millis(now.Add(after).UnixMilli())
}
