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
	backtestPermissions = 5000
	backtestPage        = 250
	backtestTime        = 750 * time.Millisecond
	backtestExamples    = 5
)

// PreviewRule says what a rule would do without making it, as schema.RulePreview.
func (h *Hub) PreviewRule(ctx context.Context, d *schema.RuleDraft, by Caller) ([]byte, error) {
	if err := h.mayRule(by, d.Reach != schema.ReachSession); err != nil {
		return nil, err
	}
	rule, err := h.draftRule(ctx, d, by)
	t := backtest{rule: rule}
	if why := rules.IneligibleError(""); errors.As(err, &why) {
		t.Refused, err = string(why), nil
	} else if err == nil {
		err = t.run(ctx, h.Store)
	}
	if err != nil {
		return nil, err
	}
	t.Rule = *rule
	return t.json()
}

// backtest holds a rule against what people decided.
type backtest struct {
	schema.RulePreview
	rule           *schema.Rule
	set            *rules.Set     // of this rule alone
	opposed, other []*store.Event // the newest first
}

func (t *backtest) run(ctx context.Context, from *store.Store) error {
	var err error
	if t.set, err = rules.NewSet([]rules.StoredRule{{Rule: *t.rule, Since: t.rule.CreatedAt}}); err != nil {
		return err
	}
	until := time.Now().Add(backtestTime)
	for last := schema.EventID(math.MaxInt64); t.Looked < backtestPermissions && time.Now().Before(until); {
		page, err := from.Questions(ctx, last, backtestPage)
		if err != nil || len(page) == 0 {
			return err
		}
		last = page[len(page)-1].ID
		for _, e := range page {
			if t.Looked < backtestPermissions {
				t.look(e)
			}
		}
	}
	return nil
}

func (t *backtest) look(e *store.Event) {
	var q schema.HumanInTheLoop
	var st schema.Status
	if json.Unmarshal(e.Question, &q) != nil || q.Type != schema.Permission || json.Unmarshal(e.Status, &st) != nil {
		return
	}
	t.Looked++
	call := callOf(e, &q, st.Risk)
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
		if len(t.opposed) < backtestExamples {
			t.opposed = append(t.opposed, e)
		}
		return
	default:
		t.Undecided++
	}
	if len(t.other) < backtestExamples {
		t.other = append(t.other, e)
	}
}

// json is the schema.RulePreview, with its examples as lists show events.
func (t *backtest) json() ([]byte, error) {
	examples := append(t.opposed, t.other...)
	whole := struct {
		schema.RulePreview
		Examples []json.RawMessage `json:"examples"`
	}{t.RulePreview, []json.RawMessage{}}
	for _, e := range examples[:min(len(examples), backtestExamples)] {
		whole.Examples = append(whole.Examples, e.AppendJSON(nil, schema.MaxListed))
	}
	return json.Marshal(whole)
}
