package question

import "github.com/hookback/hookback/schema"

// CompletedAsk is a question with what the hub's settings add to it.
type CompletedAsk struct {
	Ask     schema.HumanInTheLoop
	Applied *schema.AppliedDefaults
}

// Defaults knows the hub's settings for questions.
type Defaults interface {
	// HasAny reports whether there are settings.
	HasAny() bool
	// Complete returns what a valid question about a call of this tool, class and risk becomes by the
	// settings, the wanted form first. The others are for when too few people may decide it.
	Complete(q *schema.HumanInTheLoop, tool string, class schema.Class, risk schema.Risk) []CompletedAsk
}

// applyDefaults completes the question by the hub's settings as far as people can decide it then, and
// returns the people that it is addressed to.
func (p *Post) applyDefaults(env *Environment, st *schema.Status, tool string) ([]string, error) {
	if env.Defaults == nil || st.Probe || st.Test {
		return p.resolveRecipients(env)
	}
	stated := *p.Ask
	for _, c := range env.Defaults.Complete(&stated, tool, st.Class, st.Risk) {
		*p.Ask = c.Ask
		if p.Ask.Validate() != nil {
			continue
		}
		if recipients, err := p.resolveRecipients(env); err == nil {
			st.Defaults = c.Applied
			return recipients, nil
		}
	}
	*p.Ask = stated
	return p.resolveRecipients(env)
}
