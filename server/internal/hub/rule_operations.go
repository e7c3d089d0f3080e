package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/risk"
	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
)

// compileDraft compiles a draft to a rule, and returns the call that it is created from. If
// the error is a rules.IneligibleError, the rule is returned with it.
func (h *Hub) compileDraft(ctx context.Context, d *schema.RuleDraft, caller Caller) (*schema.Rule, *rules.Call, error) {
	by := cmp.Or(caller.Identity.Name, store.LocalName)
	if d.From <= 0 {
		return h.compileScratch(d, by)
	}
	s, err := h.readSnapshot(ctx, d.From)
	if err != nil {
		return nil, nil, err
	}
	if s.IsStartedByRequester(h.actor(caller)) {
		return nil, nil, &schema.HintError{Err: schema.ErrSelfApproval, Hint: "The rule came from a program that the requester started. Create it in the dashboard."}
	}
	call := ruleCall(&s.Event, &s.Ask, &s.Status, s.Call())
	rule, err := rules.Compile(d, call, by, h.nowMillis())
	return rule, call, err
}

// compileScratch compiles a draft that comes from no question, and returns the sample call with the
// highest risk, or the one that the draft is refused for.
func (h *Hub) compileScratch(d *schema.RuleDraft, by string) (rule *schema.Rule, worst *rules.Call, err error) {
	now := h.nowMillis()
	for sample := range rules.Samples(d) {
		known := risk.Assess(sample.Tool, sample.Arguments, sample.Cwd)
		sample.Class, sample.HubRisk = known.Class, known.Risk
		if rule, err = rules.Compile(d, sample, by, now); err != nil {
			return rule, sample, err
		}
		if worst == nil || risk.Highest(worst.HubRisk, known.Findings) != worst.HubRisk {
			worst = sample
		}
	}
	return rule, worst, nil
}

var errFrozenSession = &schema.HintError{Err: schema.ErrNoRule, Hint: "The session is frozen. Resume it first."}

// CreateRule creates a rule and returns it as schema.Rule in JSON. It answers questions
// created after it, and with ApplyNow also pending ones.
func (h *Hub) CreateRule(ctx context.Context, d *schema.RuleDraft, caller Caller) ([]byte, error) {
	if err := h.requireRuleAccess(caller, d.Reach != schema.ReachSession); err != nil {
		return nil, err
	}
	if d.From == 0 { // no one has seen a call: a program must not create the rule with a person's token
		if err := h.People.Check(schema.AccessOwn, caller.Identity); err != nil {
			return nil, err
		}
	}
	h.detectClockStep(context.WithoutCancel(ctx)) // before the expiry is computed
	rule, call, err := h.compileDraft(ctx, d, caller)
	if reason := rules.IneligibleError(""); errors.As(err, &reason) {
		return nil, &schema.HintError{Err: schema.ErrNoRule, Hint: string(reason)}
	}
	if err == nil && rule.Then == schema.ThenAllow && rule.Scope == "" &&
		question.IsCovered(h.People.PasskeyThreshold(), call.Class, risk.Highest(call.AgentRisk, []schema.Finding{{Risk: call.HubRisk}})) {
		return nil, &schema.HintError{Err: schema.ErrNoRule, Hint: "This hub requires a passkey for each approval of this call, and a rule has none."}
	}
	if err == nil && rule.Scope != "" && h.Store.FreezeOf(rule.SourceApp, rule.SessionID) != nil {
		err = errFrozenSession
	}
	if err != nil {
		return nil, err
	}
	created, err := h.Store.CreateRule(ctx, *rule)
	if err != nil {
		return nil, err
	}
	if rule.Scope != "" && h.Store.FreezeOf(rule.SourceApp, rule.SessionID) != nil { // in the meantime
		h.revokeAllowances(context.WithoutCancel(ctx), question.HubActor)
		return nil, errFrozenSession
	}
	if err := h.loadRules(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	if d.ApplyNow {
		h.applyRulesToPending(context.WithoutCancel(ctx), created.ID)
	}
	list, err := h.Store.Rules(ctx, 1)
	if err == nil && len(list) == 1 && list[0].ID == created.ID {
		created = list[0] // includes its uses so far
	}
	return json.Marshal(created.Rule)
}

// RevokeRule revokes a rule and returns it as schema.Rule in JSON. The rule decides
// nothing after the revocation is stored.
func (h *Hub) RevokeRule(ctx context.Context, id int64, caller Caller) ([]byte, error) {
	if err := h.requireRuleAccess(caller, false); err != nil {
		return nil, err
	}
	rule, err := h.Store.RevokeRule(ctx, id, cmp.Or(caller.Identity.Name, store.LocalName), h.Clock())
	if err != nil {
		return nil, err
	}
	if err := h.loadRules(context.WithoutCancel(ctx)); err != nil {
		h.Log.Error("rule reload after a revocation failed; no rule is active", "err", err)
	}
	return json.Marshal(rule.Rule)
}

// PreviewRule replays stored permissions against a rule without creating it, and
// returns a schema.RulePreview as JSON.
func (h *Hub) PreviewRule(ctx context.Context, d *schema.RuleDraft, caller Caller) ([]byte, error) {
	if err := h.requireRuleAccess(caller, d.Reach != schema.ReachSession); err != nil {
		return nil, err
	}
	rule, call, err := h.compileDraft(ctx, d, caller)
	preview := schema.RulePreview{}
	if reason := rules.IneligibleError(""); errors.As(err, &reason) {
		preview.Refused, err = string(reason), nil
	}
	if err != nil {
		return nil, err
	}
	preview.Rule = *rule
	if d.From > 0 {
		preview.Exact = rules.ExactScope(call)
	}
	return h.encodePreview(ctx, preview)
}

// ReplayRule compares a rule with the permissions of the last days, without creating it. A rule that
// can't be created is a schema.ErrNoRule.
func (h *Hub) ReplayRule(ctx context.Context, d *schema.RuleDraft) (*history.Replay, error) {
	rule, _, err := h.compileDraft(ctx, d, Caller{})
	if reason := rules.IneligibleError(""); errors.As(err, &reason) {
		return nil, &schema.HintError{Err: schema.ErrNoRule, Hint: string(reason)}
	}
	if err != nil {
		return nil, err
	}
	return h.replayRule(ctx, rule)
}
