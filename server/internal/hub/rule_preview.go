package hub

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/question"
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

// encodePreview compares the rule of p with stored permissions, unless it is refused, and returns p
// with the result as JSON.
func encodePreview(ctx context.Context, db store.Questions, p schema.RulePreview) ([]byte, error) {
	full := rulePreview{RulePreview: p, rule: &p.Rule}
	if p.Refused == "" {
		if err := full.evaluate(ctx, db); err != nil {
			return nil, err
		}
	}
	return full.encode()
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

// covers reports whether the rule would have answered a stored permission.
func (p *rulePreview) covers(e *store.Event, q *schema.HumanInTheLoop, st *schema.Status) bool {
	call := ruleCall(e, q, st, question.CallOf(e, q))
	call.ID = 0 // ignore when the rule was created
	return p.set.Decide(call, p.rule.CreatedAt) != nil
}

// addQuestion compares the rule with the outcome of one stored permission.
func (p *rulePreview) addQuestion(e *store.Event) {
	var q schema.HumanInTheLoop
	var st schema.Status
	if json.Unmarshal(e.Question, &q) != nil || q.Type != schema.Permission || json.Unmarshal(e.Status, &st) != nil {
		return
	}
	p.Looked++
	if !p.covers(e, &q, &st) {
		return
	}
	p.Matched++
	byPerson := isByPerson(&st)
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

func isByPerson(st *schema.Status) bool {
	return st.Source == schema.ByHuman || st.Source == schema.ByQuorum
}
