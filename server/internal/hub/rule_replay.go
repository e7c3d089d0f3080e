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

const (
	previewMaxQuestions = 5000
	previewMaxExamples  = 5
	replayDays          = 30
	replayPage          = 250
)

// pastLimits bound what is read of the past. A preview and a replay report the permissions up to the first limit.
type pastLimits struct {
	since     time.Time
	questions int
	within    time.Duration
}

// pastPermission is a stored permission, compared with a rule.
type pastPermission struct {
	*store.Event
	ask        schema.HumanInTheLoop
	status     schema.Status
	tool       string
	isMatched  bool // the rule would have answered it
	isByPerson bool // a person answered it
}

// eachPermission calls fn with the stored permissions, newest first. complete is set if it has all since that time.
func (h *Hub) eachPermission(
	ctx context.Context, rule *schema.Rule, limits pastLimits, fn func(*pastPermission),
) (complete bool, err error) {
	set, err := rules.NewSet([]rules.StoredRule{{Rule: *rule, Since: rule.CreatedAt}})
	if err != nil {
		return false, err
	}
	deadline := time.Now().Add(limits.within)
	for before := schema.EventID(math.MaxInt64); ; {
		page, err := h.Store.Questions(ctx, before, replayPage)
		if err != nil || len(page) == 0 {
			return err == nil, err
		}
		for _, e := range page {
			if e.ReceivedAt.Before(limits.since) {
				return true, nil
			}
			if limits.questions == 0 || time.Now().After(deadline) {
				return false, nil
			}
			p := pastPermission{Event: e}
			if e.App == schema.TestApp || json.Unmarshal(e.Question, &p.ask) != nil || p.ask.Type != schema.Permission ||
				json.Unmarshal(e.Status, &p.status) != nil {
				continue
			}
			limits.questions--
			call := ruleCall(e, &p.ask, &p.status, question.CallOf(e, &p.ask))
			call.ID = 0 // ignore when the rule was created
			p.tool, p.isMatched = call.Tool, set.Decide(call, rule.CreatedAt) != nil
			p.isByPerson = p.status.Source == schema.ByHuman || p.status.Source == schema.ByQuorum
			fn(&p)
		}
		before = page[len(page)-1].ID
	}
}

// encodePreview compares the rule of p with the decisions of people, unless it is refused, and returns p with the result
// as JSON. Its examples have the list format of events.
func (h *Hub) encodePreview(ctx context.Context, p schema.RulePreview) ([]byte, error) {
	opposed, others := []json.RawMessage{}, []json.RawMessage{} // newest first
	if p.Refused == "" {
		agreeing := map[string]schema.Outcome{schema.ThenAllow: schema.Approve, schema.ThenDeny: schema.Deny}[p.Rule.Then]
		limits := pastLimits{questions: previewMaxQuestions, within: 750 * time.Millisecond}
		_, err := h.eachPermission(ctx, &p.Rule, limits, func(past *pastPermission) {
			if p.Looked++; !past.isMatched {
				return
			}
			p.Matched++
			list, st := &others, &past.status
			switch {
			case past.isByPerson && st.Outcome == agreeing && st.Response != nil && st.Response.ModifiedArguments == nil:
				p.Agreed++
			case past.isByPerson && (st.Outcome == schema.Approve || st.Outcome == schema.Deny):
				p.Opposed++
				list = &opposed
			default:
				p.Undecided++
			}
			if len(*list) < previewMaxExamples {
				*list = append(*list, past.AppendJSON(nil, schema.MaxListed))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	examples := append(opposed, others...)
	return json.Marshal(struct {
		schema.RulePreview
		Examples []json.RawMessage `json:"examples"`
	}{p, examples[:min(len(examples), previewMaxExamples)]})
}

// replayRule compares a rule with the permissions of the last days.
func (h *Hub) replayRule(ctx context.Context, rule *schema.Rule) (*history.Replay, error) {
	r := &history.Replay{Days: replayDays, Problems: []history.PolicyProblem{}}
	opposed, others := []history.ReplayExample{}, []history.ReplayExample{} // newest first
	opposing := map[string]schema.Outcome{schema.ThenAllow: schema.Deny, schema.ThenDeny: schema.Approve}[rule.Then]
	var err error
	limits := pastLimits{since: h.Clock().AddDate(0, 0, -replayDays), questions: 20_000, within: time.Second}
	r.Complete, err = h.eachPermission(ctx, rule, limits, func(past *pastPermission) {
		r.Looked++
		switch {
		case !past.isMatched:
			r.Unmatched++
			return
		case rule.Then == schema.ThenAllow:
			r.Allowed++
		default:
			r.Denied++
		}
		list, example := &others, past.example(rule)
		if example.Opposed = past.isByPerson && past.status.Outcome == opposing; example.Opposed {
			r.Opposed++
			list = &opposed
		}
		if len(*list) < history.MaxReplayExamples {
			*list = append(*list, example)
		}
	})
	r.Examples = append(opposed, others[:min(len(others), history.MaxReplayExamples-len(opposed))]...)
	return r, err
}

func (p *pastPermission) example(rule *schema.Rule) history.ReplayExample {
	st := &p.status
	example := history.ReplayExample{
		Event: p.ID, SourceApp: p.App, Tool: p.tool, Title: st.Intent.Title(), Effect: rule.Then, Sentence: rule.Text,
		Decided: history.DecidedByPerson, Outcome: history.CallOpen, At: schema.Millis(p.ReceivedAt.UnixMilli()),
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
