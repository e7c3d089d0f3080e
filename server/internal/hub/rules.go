package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/feed"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
)

// A rule answers a question right after it is stored, through the same transition as a
// person's answer, with its own commit and notifications. If anything fails, the
// question is left to a person.

// applyRules lets the rules answer a question that was just stored.
func (h *Hub) applyRules(ctx context.Context, s *postedEvent) {
	e := s.event
	if !s.isQuestion() {
		return
	}
	if h.Store.FreezeOf(e.App, e.Session) != nil {
		s.event = h.denyFrozen(ctx, e)
		return
	}
	if h.rules.Load() == nil || s.Ask.Type != schema.Permission || e.App == schema.TestApp {
		return
	}
	if call, ok := pendingRuleCall(e, s.Ask, s.Call()); ok {
		s.event = cmp.Or(h.decideByRule(ctx, e.ID, call, 0), e)
	}
}

// decideByRule lets the rules answer a question about a call and returns the resulting
// event, or nil if it is left to a person. If onlyRule is not 0, other rules don't
// apply. If the chosen rule was revoked in the meantime, the remaining rules are tried.
func (h *Hub) decideByRule(ctx context.Context, id schema.EventID, call *rules.Call, onlyRule int64) *store.Event {
	for range maxConflictRetries {
		rule := h.rules.Load().Decide(call, h.nowMillis())
		if rule == nil || onlyRule != 0 && rule.ID != onlyRule {
			return nil
		}
		answered, err := h.answerByRule(ctx, id, rule)
		if errors.Is(err, store.ErrRuleEnded) {
			if err = h.loadRules(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			h.Log.Error("answer by rule failed; the question is left to a person", "rule", rule.ID, "event", id, "err", err)
			return nil
		}
		return answered
	}
	return nil
}

func (h *Hub) nowMillis() schema.Millis { return schema.Millis(h.Clock().UnixMilli()) }

// checkRuleStillAllowed returns nil while the creator of a rule could still create it.
// A rule created without signing in ends when the hub is locked, because an agent could
// have created it. A rule also ends when its creator is removed or loses the necessary
// role.
func (h *Hub) checkRuleStillAllowed(rule *schema.Rule) error {
	if h.People == nil {
		return nil
	}
	if rule.CreatedBy == store.LocalName {
		if h.People.IsLocked() {
			return errors.New("it was created without signing in, before the hub was locked")
		}
		return nil // from a version of the hub that allowed it
	}
	identity, known := h.People.IdentityOf(rule.CreatedBy, "rule")
	created, _ := h.People.CreatedAt(rule.CreatedBy)
	if !known || identity.Name != rule.CreatedBy || rule.CreatedAt < schema.Millis(created.UnixMilli()) {
		return errors.New("its creator no longer has an account on this hub")
	}
	return h.requireRuleAccess(Caller{Identity: identity}, rule.SessionID == "")
}

// revokeInvalidRule revokes a rule that is no longer allowed, so that people can see
// why it stopped answering. It returns store.ErrRuleEnded, or the error of the
// revocation.
func (h *Hub) revokeInvalidRule(ctx context.Context, rule *schema.Rule, reason error) error {
	h.Log.Warn("rule revoked; its creator is no longer allowed to create it", "rule", rule.ID, "reason", reason)
	if _, err := h.Store.RevokeRule(context.WithoutCancel(ctx), rule.ID, question.HubActor, h.Clock()); err != nil {
		return err
	}
	return store.ErrRuleEnded
}

func (h *Hub) answerByRule(ctx context.Context, id schema.EventID, rule *schema.Rule) (*store.Event, error) {
	if err := h.checkRuleStillAllowed(rule); err != nil {
		return nil, h.revokeInvalidRule(ctx, rule, err)
	}
	return h.transition(ctx, id, func(s *question.Snapshot) (*store.Change, error) { return s.AnswerByRule(rule, h.Clock()) })
}

// applyRulesToPending lets rules answer pending questions. With onlyRule (applyNow)
// that rule answers all questions it covers. Otherwise rules answer questions created
// after them that are still pending because the hub stopped in between.
func (h *Hub) applyRulesToPending(ctx context.Context, onlyRule int64) {
	pending, err := h.Store.Pending(ctx)
	if err != nil {
		h.Log.Error("pending question lookup failed; rules don't answer pending questions", "err", err)
		return
	}
	for _, e := range pending {
		var q schema.HumanInTheLoop
		if e.App == schema.TestApp || json.Unmarshal(e.Question, &q) != nil || q.Type != schema.Permission {
			continue
		}
		call, ok := pendingRuleCall(e, &q, question.CallOf(e, &q))
		if !ok {
			continue
		}
		if onlyRule != 0 {
			call.ID = 0 // ignore when the rule was created
		}
		h.decideByRule(ctx, e.ID, call, onlyRule)
	}
}

// loadRules replaces the active rules with the stored ones.
func (h *Hub) loadRules(ctx context.Context) error {
	h.rulesMu.Lock()
	defer h.rulesMu.Unlock()
	live, err := h.Store.LiveRules(ctx, h.Clock())
	if err != nil {
		h.rules.Store(nil) // fail closed: a revoked rule must not stay active
		return err
	}
	entries := make([]rules.StoredRule, len(live))
	for i, r := range live {
		entries[i] = rules.StoredRule{Rule: r.Rule, After: r.After, Since: r.Since}
		h.newestRule.Store(max(h.newestRule.Load(), r.ID))
	}
	h.publishAllowances(entries)
	set, err := rules.NewSet(entries)
	if err != nil {
		h.Log.Error("rule compilation failed; calls that the rule may cover are left to a person", "err", err)
	}
	h.rules.Store(set)
	return nil
}

// publishAllowances sends the active allowances to the pages if they have changed. The caller holds
// rulesMu.
func (h *Hub) publishAllowances(live []rules.StoredRule) {
	active := []schema.Rule{}
	for i := range live {
		if r := live[i].Rule; r.Scope == schema.ScopeSession {
			r.Uses, r.LastUseAt = 0, 0
			active = append(active, r)
		}
	}
	if len(active)+len(h.allowances) > 0 && !reflect.DeepEqual(active, h.allowances) {
		h.allowances = active
		h.Feed.PublishFact(feed.Fact{Kinds: feed.Allowances, Note: active})
	}
}

// revokeAllowances revokes the allowances of frozen sessions: after the freeze, a person decides again
// whether to allow calls.
func (h *Hub) revokeAllowances(ctx context.Context, by string) {
	live, err := h.Store.LiveRules(ctx, h.Clock())
	for i := range live {
		if r := &live[i]; err == nil && r.Scope == schema.ScopeSession && h.Store.FreezeOf(r.SourceApp, r.SessionID) != nil {
			_, err = h.Store.RevokeRule(ctx, r.ID, by, h.Clock())
		}
	}
	if err = cmp.Or(err, h.loadRules(ctx)); err != nil {
		h.rules.Store(nil)
		h.Log.Error("revoking the allowances of frozen sessions failed; no rule is active", "err", err)
	}
}

// initRules loads the rules at startup. It first ends session rules whose session ended
// while the hub was down.
func (h *Hub) initRules(ctx context.Context) {
	live, err := h.Store.LiveRules(ctx, h.Clock())
	for i := range live {
		r := &live[i]
		if err != nil || r.SessionID == "" {
			continue
		}
		var ends []*store.Event
		ends, err = h.Store.Find(ctx, store.Filter{App: r.SourceApp, Session: r.SessionID, Type: sessionEndEvent, After: r.After, Limit: 1})
		if err == nil && len(ends) > 0 {
			err = h.Store.EndRules(ctx, r.SourceApp, r.SessionID, h.Clock())
		}
	}
	if err == nil {
		err = h.loadRules(ctx)
	}
	if err != nil {
		h.Log.Error("rule loading failed; no rule is active until the hub restarts", "err", err)
	}
}

// endSessionRules ends the rules that are limited to a session.
func (h *Hub) endSessionRules(ctx context.Context, end *store.Event) {
	if !h.rules.Load().HasSessionRule(end.App, end.Session) {
		return
	}
	err := h.Store.EndRules(ctx, end.App, end.Session, h.Clock())
	if err = cmp.Or(err, h.loadRules(ctx)); err != nil {
		h.Log.Error("ending the rules of a session failed", "session", end.Session, "err", err)
	}
}

// requireRuleAccess requires the role for a change of a rule: admin if the change lets the rule apply
// beyond one session, as for accounts and channels, otherwise operator. Revoking a rule answers nothing,
// so operators may revoke every rule.
func (h *Hub) requireRuleAccess(caller Caller, beyondSession bool) error {
	if beyondSession {
		return h.People.Check(schema.AccessAdmin, caller.Identity)
	}
	return h.People.Check(schema.AccessKeep, caller.Identity)
}

// ruleCall returns the view of a stored question that rules are matched against; call is what question.CallOf returns
// for it.
func ruleCall(e *store.Event, q *schema.HumanInTheLoop, st *schema.Status, call *question.Call) *rules.Call {
	c := &rules.Call{
		ID: e.ID, Kind: q.Type, App: e.App, Session: e.Session, AgentRisk: q.Risk, HubRisk: st.Risk, Class: st.Class,
		IsRestricted: question.IsRestricted(q) || len(st.Recipients) > 0,
		HasFindings:  len(st.Findings) > 0, PolicyAsked: hookVerdictOf(e).Verdict == control.VerdictAsk,
	}
	c.Agent, c.Tool, c.Arguments, c.Cwd, c.Project = call.Agent, call.Name, call.Arguments, call.Cwd, call.Project
	if q.ToolCall != nil {
		c.Consequence = q.ToolCall.Consequence
	}
	if call.Exists() {
		c.Hash = call.Hash()
	}
	c.Redacted = bytes.Contains(c.Arguments, []byte(schema.RedactedPrefix))
	return c
}

// pendingRuleCall returns the view of a question that rules may still answer: it is pending, has no answer in
// its undo window, and is not addressed to certain people.
func pendingRuleCall(e *store.Event, q *schema.HumanInTheLoop, call *question.Call) (c *rules.Call, ok bool) {
	var st schema.Status
	if json.Unmarshal(e.Status, &st) != nil || st.Status != schema.Pending || st.Held != nil || len(st.Recipients) > 0 {
		return nil, false
	}
	return ruleCall(e, q, &st, call), true
}

// hookVerdictOf returns what the hook of the event decided by itself. The verdict is VerdictAsk, by which its policy
// requires a person, also if the member can't be read.
func hookVerdictOf(e *store.Event) (v control.HookVerdict) {
	if !bytes.Contains(e.Envelope, []byte(`"`+control.HookMember+`"`)) {
		return v
	}
	var envelope map[string]json.RawMessage
	if json.Unmarshal(e.EnvelopeObject(), &envelope) != nil {
		return control.HookVerdict{Verdict: control.VerdictAsk}
	}
	if raw := envelope[control.HookMember]; raw != nil && json.Unmarshal(raw, &v) != nil {
		return control.HookVerdict{Verdict: control.VerdictAsk}
	}
	return v
}
