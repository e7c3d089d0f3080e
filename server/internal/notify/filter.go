package notify

import (
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call/matcher"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/notify/buttons"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/risk"
)

// Agents state most of what a filter tests. A false statement can keep messages from being sent, which approves nothing.

// selects reports whether the filter of a channel selects the question. One without a question is unknown: only an empty
// filter does.
func (r *recipients) selects(f *schema.ChannelFilter, q *buttons.Question) bool {
	if f.IsEmpty() {
		return true
	}
	if q.Question == nil {
		return false
	}
	about, level := question.CallOf(&q.Event, &q.Ask), q.Level()
	return (len(f.Projects) == 0 || about.IsIn(f.Projects)) &&
		(len(f.Paths) == 0 || about.Touches(f.Paths)) &&
		(len(f.Agents) == 0 || slices.ContainsFunc(f.Agents, func(p string) bool { return matcher.NewGlob(p, true).Match(q.App) })) &&
		(f.Risk == "" || risk.Highest(level, []schema.Finding{{Risk: f.Risk}}) == level) &&
		(len(f.Owners) == 0 || slices.ContainsFunc(f.Owners, func(name string) bool { return r.isOwner(name, q) }))
}

// isOwner reports whether a name in a CODEOWNERS file or of an account is an owner of the question's files, or everyone was
// asked because its owners could not decide or did not answer.
func (r *recipients) isOwner(name string, q *buttons.Question) bool {
	if st := &q.Status; st.Owners != nil && (st.Owners.State != schema.OwnersMatched || st.EscalatedAt > 0) {
		return true
	}
	if q.Ask.Context == nil || q.Ask.Context.Owners == nil {
		return false
	}
	names := append([]string{name, "@" + name}, r.people[name].Handles...)
	return slices.ContainsFunc(q.Ask.Context.Owners.Files, func(f schema.OwnedFiles) bool {
		return slices.ContainsFunc(f.Owners, func(owner string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, owner) })
		})
	})
}
