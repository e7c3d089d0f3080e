package hub

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
)

// Limits of a replay. It reports the questions read until the first limit is reached.
const (
	replayDays         = 30
	replayMaxQuestions = 20_000
	replayTimeLimit    = time.Second
)

// replayRule compares a rule with the permissions of the last days.
func replayRule(ctx context.Context, db store.Questions, rule *schema.Rule, now time.Time) (*history.Replay, error) {
	set, err := rules.NewSet([]rules.StoredRule{{Rule: *rule, Since: rule.CreatedAt}})
	if err != nil {
		return nil, err
	}
	r := ruleReplay{preview: rulePreview{rule: rule, set: set}, since: now.AddDate(0, 0, -replayDays)}
	r.Days, r.Problems = replayDays, []history.PolicyProblem{}
	if err := r.read(ctx, db); err != nil {
		return nil, err
	}
	r.Unmatched = r.Looked - r.Allowed - r.Denied
	r.Examples = append([]history.ReplayExample{}, r.opposed...)
	r.Examples = append(r.Examples, r.others[:min(len(r.others), history.MaxReplayExamples-len(r.opposed))]...)
	return &r.Replay, nil
}

// ruleReplay compares a rule with past permissions.
type ruleReplay struct {
	history.Replay
	preview         rulePreview // evaluates the rule
	since           time.Time
	opposed, others []history.ReplayExample // newest first
}

// read reads stored questions, newest first, until a limit is reached.
func (r *ruleReplay) read(ctx context.Context, db store.Questions) error {
	deadline := time.Now().Add(replayTimeLimit)
	for before := schema.EventID(math.MaxInt64); r.Looked < replayMaxQuestions && time.Now().Before(deadline); {
		page, err := db.Questions(ctx, before, previewPage)
		if err != nil {
			return err
		}
		for _, e := range page {
			if e.ReceivedAt.Before(r.since) {
				r.Complete = true
				return nil
			}
			if time.Now().After(deadline) {
				return nil
			}
			r.add(e)
		}
		if len(page) == 0 {
			r.Complete = true
			return nil
		}
		before = page[len(page)-1].ID
	}
	return nil
}

// add compares the rule with a stored permission.
func (r *ruleReplay) add(e *store.Event) {
	var q schema.HumanInTheLoop
	var st schema.Status
	if e.App == schema.TestApp || json.Unmarshal(e.Question, &q) != nil ||
		q.Type != schema.Permission || json.Unmarshal(e.Status, &st) != nil {
		return
	}
	r.Looked++
	rule := r.preview.rule
	if !r.preview.covers(e, &q, &st) {
		return
	}
	if rule.Then == schema.ThenAllow {
		r.Allowed++
	} else {
		r.Denied++
	}
	list := &r.others
	opposed := isByPerson(&st) && st.Outcome == map[string]schema.Outcome{schema.ThenAllow: schema.Deny, schema.ThenDeny: schema.Approve}[rule.Then]
	if opposed {
		r.Opposed++
		list = &r.opposed
	}
	if len(*list) < history.MaxReplayExamples {
		*list = append(*list, r.example(e, &q, &st, opposed))
	}
}

func (r *ruleReplay) example(e *store.Event, q *schema.HumanInTheLoop, st *schema.Status, opposed bool) history.ReplayExample {
	call := question.CallOf(e, q)
	example := history.ReplayExample{
		Event: e.ID, SourceApp: e.App, Tool: call.Name, Title: st.Intent.Title(), Effect: r.preview.rule.Then, Sentence: r.preview.rule.Text,
		Decided: history.DecidedByPerson, Outcome: history.CallOpen, Opposed: opposed, At: schema.Millis(e.ReceivedAt.UnixMilli()),
	}
	if st.Source == schema.ByRule {
		example.Decided = history.DecidedByRule
	}
	switch {
	case st.Outcome == schema.Deny:
		example.Outcome = history.CallRefused
	case st.Execution != nil && st.Execution.State == schema.Succeeded:
		example.Outcome = history.CallRan
	case st.Execution != nil && st.Execution.State == schema.ToolFailed:
		example.Outcome = history.CallFailed
	}
	return example
}
