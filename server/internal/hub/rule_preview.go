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

// A rule is held against so many stored permissions at most, read so many at a time,
// for so long: what was looked at by then is what is told.
const (
	previewMaxQuestions = 5000
	previewPage         = 250
	previewTimeLimit    = 750 * time.Millisecond
	previewMaxExamples  = 5
)

// PreviewRule says what a rule would do without making it, as schema.RulePreview.
func (h *Hub) PreviewRule(ctx context.Context, d *schema.RuleDraft, by Caller) ([]byte, error) {
	if err := h.requireRuleAccess(by, d.Reach != schema.ReachSession); err != nil {
		return nil, err
	}
	rule, err := h.compileDraft(ctx, d, by)
	t := rulePreview{rule: rule}
	if why := rules.IneligibleError(""); errors.As(err, &why) {
		t.Refused, err = string(why), nil
	} else if err == nil {
		err = t.evaluate(ctx, h.Store)
	}
	if err != nil {
		return nil, err
	}
	t.Rule = *rule
	return t.encode()
}

// rulePreview holds a rule against what people decided.
type rulePreview struct {
	schema.RulePreview
	rule                           *schema.Rule
	set                            *rules.Set     // of this rule alone
	opposedExamples, otherExamples []*store.Event // the newest first
}

func (t *rulePreview) evaluate(ctx context.Context, from *store.Store) error {
	var err error
	if t.set, err = rules.NewSet([]rules.StoredRule{{Rule: *t.rule, Since: t.rule.CreatedAt}}); err != nil {
		return err
	}
	until := time.Now().Add(previewTimeLimit)
	for last := schema.EventID(math.MaxInt64); t.Looked < previewMaxQuestions && time.Now().Before(until); {
		page, err := from.Questions(ctx, last, previewPage)
		if err != nil || len(page) == 0 {
			return err
		}
		last = page[len(page)-1].ID
		for _, e := range page {
			if t.Looked < previewMaxQuestions {
				t.addQuestion(e)
			}
		}
	}
	return nil
}

func (t *rulePreview) addQuestion(e *store.Event) {
	var q schema.HumanInTheLoop
	var st schema.Status
	if json.Unmarshal(e.Question, &q) != nil || q.Type != schema.Permission || json.Unmarshal(e.Status, &st) != nil {
		return
	}
	t.Looked++
	call := ruleCall(e, &q, st.Risk)
	call.ID = 0 // a rule would have been there
	call.Several = call.Several || len(st.Recipients) > 0
	if t.set.Decide(call, t.rule.CreatedAt) == nil {
		return
	}
	t.Matched++
	person := st.Source == schema.ByHuman || st.Source == schema.ByQuorum
	agrees := map[string]schema.Outcome{schema.ThenAllow: schema.Approve, schema.ThenDeny: schema.Deny}[t.rule.Then]
	switch {
	case person && st.Outcome == agrees && st.Response != nil && st.Response.ModifiedArguments == nil:
		t.Agreed++
	case person && (st.Outcome == schema.Approve || st.Outcome == schema.Deny):
		t.Opposed++
		if len(t.opposedExamples) < previewMaxExamples {
			t.opposedExamples = append(t.opposedExamples, e)
		}
		return
	default:
		t.Undecided++
	}
	if len(t.otherExamples) < previewMaxExamples {
		t.otherExamples = append(t.otherExamples, e)
	}
}

// encode is the schema.RulePreview, with its examples as lists show events.
func (t *rulePreview) encode() ([]byte, error) {
	examples := append(t.opposedExamples, t.otherExamples...)
	whole := struct {
		schema.RulePreview
		Examples []json.RawMessage `json:"examples"`
	}{t.RulePreview, []json.RawMessage{}}
	for _, e := range examples[:min(len(examples), previewMaxExamples)] {
		whole.Examples = append(whole.Examples, e.AppendJSON(nil, schema.MaxListed))
	}
	return json.Marshal(whole)
}
