package hub

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
)

// Limits of a preview. It reports the questions read until the first limit is reached.
const (
	previewMaxQuestions = 5000
	previewPage         = 250
	previewTimeLimit    = 750 * time.Millisecond
	previewMaxExamples  = 5
)

// PreviewRule replays stored permissions against a rule without creating it, and
// returns a schema.RulePreview as JSON.
func (h *Hub) PreviewRule(ctx context.Context, d *schema.RuleDraft, caller Caller) ([]byte, error) {
	if err := h.requireRuleAccess(caller, d.Reach != schema.ReachSession); err != nil {
		return nil, err
	}
	rule, call, err := h.compileDraft(ctx, d, caller)
	preview := rulePreview{rule: rule}
	if reason := rules.IneligibleError(""); errors.As(err, &reason) {
		preview.Refused, err = string(reason), nil
	} else if err == nil {
		err = preview.evaluate(ctx, h.Store)
	}
	if err != nil {
		return nil, err
	}
	preview.Rule, preview.Exact = *rule, rules.ExactScope(call)
	return preview.encode()
}

// rulePreview compares a rule with the decisions of people.
type rulePreview struct {
	schema.RulePreview
	rule                           *schema.Rule
	set                            *rules.Set     // contains only this rule
	opposedExamples, otherExamples []*store.Event // newest first
}

// evaluate reads stored questions, newest first, until a limit is reached.
func (p *rulePreview) evaluate(ctx context.Context, db store.Questions) error {
	var err error
	if p.set, err = rules.NewSet([]rules.StoredRule{{Rule: *p.rule, Since: p.rule.CreatedAt}}); err != nil {
		return err
	}
	deadline := time.Now().Add(previewTimeLimit)
	for before := schema.EventID(math.MaxInt64); p.Looked < previewMaxQuestions && time.Now().Before(deadline); {
		page, err := db.Questions(ctx, before, previewPage)
		if err != nil || len(page) == 0 {
			return err
		}
		before = page[len(page)-1].ID
		for _, e := range page {
			if p.Looked < previewMaxQuestions {
				p.addQuestion(e)
			}
		}
	}
	return nil
}

// addQuestion compares the rule with the outcome of one stored permission.
func (p *rulePreview) addQuestion(e *store.Event) {
	var q schema.HumanInTheLoop
	var st schema.Status
	if json.Unmarshal(e.Question, &q) != nil || q.Type != schema.Permission || json.Unmarshal(e.Status, &st) != nil {
		return
	}
	p.Looked++
	call := ruleCall(e, &q, callRisk{st.Risk, st.Class})
	call.ID = 0 // ignore when the rule was created
	call.IsRestricted = call.IsRestricted || len(st.Recipients) > 0
	if p.set.Decide(call, p.rule.CreatedAt) == nil {
		return
	}
	p.Matched++
	byPerson := st.Source == schema.ByHuman || st.Source == schema.ByQuorum
	agreeing := map[string]schema.Outcome{schema.ThenAllow: schema.Approve, schema.ThenDeny: schema.Deny}[p.rule.Then]
	switch {
	case byPerson && st.Outcome == agreeing && st.Response != nil && st.Response.ModifiedArguments == nil:
		p.Agreed++
	case byPerson && (st.Outcome == schema.Approve || st.Outcome == schema.Deny):
		p.Opposed++
		if len(p.opposedExamples) < previewMaxExamples {
			p.opposedExamples = append(p.opposedExamples, e)
		}
		return
	default:
		p.Undecided++
	}
	if len(p.otherExamples) < previewMaxExamples {
		p.otherExamples = append(p.otherExamples, e)
	}
}

// encode returns the schema.RulePreview as JSON. Its examples have the list format of
// events.
func (p *rulePreview) encode() ([]byte, error) {
	examples := append(p.opposedExamples, p.otherExamples...)
	out := struct {
		schema.RulePreview
		Examples []json.RawMessage `json:"examples"`
	}{p.RulePreview, []json.RawMessage{}}
	for _, e := range examples[:min(len(examples), previewMaxExamples)] {
		out.Examples = append(out.Examples, e.AppendJSON(nil, schema.MaxListed))
	}
	return json.Marshal(out)
}
