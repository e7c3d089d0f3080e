package studio

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hookback/hookback/agentclient/intent"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/ratings"
)

// replay is a comparison of a policy with past calls.
type replay struct {
	history.Replay
	file            *file
	opposed, others []history.ReplayExample // newest first
}

// Replay compares the text of a policy with the calls of the last days. If the text is no valid policy,
// the error matches schema.ErrNoPolicy.
func (s *Service) Replay(ctx context.Context, d *history.ReplayDraft) (*history.Replay, error) {
	origin, known := originOf(d.Origin)
	switch {
	case !known:
		return nil, &schema.FieldError{Field: "origin", Detail: "must be user or project"}
	case max(len(d.Policy), len(d.Add)) > history.MaxPolicyText:
		return nil, &schema.FieldError{Field: "policy", Detail: fmt.Sprintf("is larger than %d bytes", history.MaxPolicyText)}
	}
	release, err := s.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	text := d.Policy
	if d.Add != "" {
		text = `{"rules":[` + d.Add + `]}`
	}
	parsed, err := parseFile("policy", text, origin)
	if err != nil {
		return nil, invalidPolicy(err)
	}
	calls, complete, err := s.pastCalls(ctx)
	if err != nil {
		return nil, err
	}
	r := replay{file: parsed, Replay: history.Replay{Days: ratings.PastDays, Complete: complete, Problems: parsed.warnings}}
	if d.Add != "" {
		if err := r.addTo(d); err != nil {
			return nil, err
		}
	}
	r.run(calls)
	r.Examples = append(r.opposed, r.others...)
	r.Examples = append([]history.ReplayExample{}, r.Examples[:min(len(r.Examples), history.MaxReplayExamples)]...)
	return &r.Replay, nil
}

// addTo describes the rule of the draft and adds it to the file of the draft.
func (r *replay) addTo(d *history.ReplayDraft) error {
	if len(r.file.rules) != 1 {
		return &schema.FieldError{Field: "add", Detail: "must be one rule"}
	}
	r.Sentence = r.file.rules[0].Sentence
	if changed, err := policy.Insert([]byte(cmp.Or(d.Policy, policy.NewFile)), d.Add); err == nil {
		r.Replay.Policy = string(changed)
	}
	return nil
}

// run evaluates the policy for the calls, newest first.
func (r *replay) run(calls []ratings.PastCall) {
	e, deadline := newEvaluator([]*file{r.file}), time.Now().Add(evaluationTime)
	for i := range slices.Backward(calls) {
		if time.Now().After(deadline) {
			r.Complete = false
			return
		}
		result, known := e.evaluate(&calls[i])
		if !known {
			r.Complete = false
			continue
		}
		r.add(&calls[i], &result)
	}
}

func (r *replay) add(c *ratings.PastCall, result *policy.Result) {
	r.Looked++
	switch result.Effect {
	case policy.Allow:
		r.Allowed++
	case policy.Deny:
		r.Denied++
	case policy.Ask:
		r.Asked++
	default:
		r.Unmatched++
		return
	}
	list := &r.others
	opposed := isOpposed(result.Effect, c.Answer)
	if opposed {
		r.Opposed++
		list = &r.opposed
	}
	_, index := ruleIndex(result.Location)
	if len(*list) >= history.MaxReplayExamples || index < 0 || index >= len(r.file.rules) {
		return
	}
	*list = append(*list, history.ReplayExample{
		Event: c.ID, SourceApp: c.SourceApp, Tool: ratings.EscapeInvisible(c.ToolName), Title: titleOf(c), Effect: string(result.Effect), Rule: index,
		Sentence: r.file.rules[index].Sentence, Decided: c.Decided, Outcome: c.Outcome, Opposed: opposed, At: schema.Millis(c.At.UnixMilli()),
	})
}

// titleOf returns a few words about what a call does.
func titleOf(c *ratings.PastCall) string {
	in := intent.Of(c.Call.Name, c.Call.Arguments, c.Cwd)
	return in.Title()
}
