package hub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
)

// A rule answers when a question is stored, like a person who happens to be very fast:
// by a transition of its own, which is counted and told like any other. Whatever goes
// wrong with it leaves the question to a person.

// maxRulesListed is how many rules a list has.
const maxRulesListed = 1000

// ruleCall is what rules are held against of a question as it is stored.
func ruleCall(e *store.Event, q *schema.HumanInTheLoop, risk schema.Risk) *rules.Call {
	c := &rules.Call{
		ID: e.ID, Kind: q.Type, App: e.App, Session: e.Session, Own: q.Risk, Risk: risk,
		Several: q.RequiredApprovals > 1 || q.Recipients != nil && q.Recipients.Mode != "" && q.Recipients.Mode != "anyone",
	}
	call, ok := toolCallOf(&store.EventDraft{Event: *e}, q)
	c.Tool, c.Arguments, c.Cwd = call.name, call.arguments, call.cwd
	if ok {
		c.Hash = call.hash()
	}
	c.Redacted = bytes.Contains(c.Arguments, []byte(schema.RedactedPrefix))
	return c
}

// pendingRisk is the hub's own estimate in a stored status, and whether the question is
// pending and untouched.
func pendingRisk(e *store.Event) (risk schema.Risk, unanswered bool, err error) {
	var st struct {
		Status     schema.State    `json:"status"`
		Risk       schema.Risk     `json:"risk"`
		Held       json.RawMessage `json:"held"`
		Recipients []string        `json:"recipients"`
	}
	err = json.Unmarshal(e.Status, &st)
	return st.Risk, st.Status == schema.Pending && st.Held == nil && len(st.Recipients) == 0, err
}

// applyRules has a rule answer a question that was just stored, where one covers it, and
// returns the question as it is then.
func (h *Hub) applyRules(ctx context.Context, e *store.Event, q *schema.HumanInTheLoop) *store.Event {
	set := h.rules.Load()
	if set == nil || q.Type != schema.Permission {
		return e
	}
	risk, unanswered, err := pendingRisk(e)
	if err != nil || !unanswered {
		return e
	}
	if answered := h.decideByRule(ctx, e.ID, ruleCall(e, q, risk), 0); answered != nil {
		return answered
	}
	return e
}

// decideByRule has the rules answer a question about a call, with only set no other rule than
// this one, and returns it as it is then; nil: it is left to a person. A rule that was
// revoked meanwhile makes room for the others.
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
			h.Log.Error("a rule could not answer; the question is left to a person", "rule", rule.ID, "event", id, "err", err)
			return nil
		}
		return answered
	}
	return nil
}

func (h *Hub) nowMillis() schema.Millis { return schema.Millis(h.Clock().UnixMilli()) }

// checkRuleStillAllowed is nil while whoever made a rule might make it now. On a hub that was locked, an
// agent could have made itself what nobody signed in for has made; and what somebody may
// no more who is gone, or has less to say, no rule may in their place.
func (h *Hub) checkRuleStillAllowed(rule *schema.Rule) error {
	if h.People == nil {
		return nil
	}
	if rule.CreatedBy == localName {
		return h.requireRuleAccess(Caller{}, false)
	}
	identity, known := h.People.IdentityOf(rule.CreatedBy, "rule")
	created, _ := h.People.CreatedAt(rule.CreatedBy)
	if !known || identity.Name != rule.CreatedBy || rule.CreatedAt < schema.Millis(created.UnixMilli()) {
		return errors.New("whoever made it is none of this hub's people any more")
	}
	return h.requireRuleAccess(Caller{Who: identity}, rule.SessionID == "")
}

// revokeInvalidRule revokes a rule that is upheld no more: everybody sees then why it answers nothing.
func (h *Hub) revokeInvalidRule(ctx context.Context, rule *schema.Rule, reason error) error {
	h.Log.Warn("a rule ends whose maker may not make it any more", "rule", rule.ID, "why", reason)
	if _, err := h.Store.RevokeRule(context.WithoutCancel(ctx), rule.ID, hubName, h.Clock()); err != nil {
		return err
	}
	return store.ErrRuleEnded
}

// errRequesterRule keeps a person from answering their own questions by a rule of theirs.
var errRequesterRule = errors.New("it was asked in the name of who made the rule")

func (h *Hub) answerByRule(ctx context.Context, id schema.EventID, rule *schema.Rule) (*store.Event, error) {
	if err := h.checkRuleStillAllowed(rule); err != nil {
		return nil, h.revokeInvalidRule(ctx, rule, err)
	}
	return h.transition(ctx, id, func(s *snapshot) (*store.Change, error) {
		if s.status.Settled() || s.undoableAnswer != nil {
			return nil, nil // a person was faster
		}
		if excluded := s.hitl.ExcludeRequester == nil || *s.hitl.ExcludeRequester; excluded && s.Requester != "" && strings.EqualFold(s.Requester, rule.CreatedBy) {
			return nil, errRequesterRule
		}
		allow := rule.Then == schema.ThenAllow
		r := &schema.Response{Permission: &allow, Reason: rule.Reason}
		if err := s.hitl.CheckResponse(r); err != nil {
			return nil, err
		}
		res := &resolution{
			state: schema.Responded, outcome: s.hitl.Outcome(r), source: schema.ByRule, reason: rule.Reason, rule: rule,
			by:     &schema.Responder{Name: fmt.Sprintf("rule %d", rule.ID), Verified: rule.CreatedBy != localName, Via: "rule"},
			answer: schema.Answer{Permission: &allow},
		}
		return res.change(s, h.Clock())
	})
}

// setRuleGuidance says in an answer that a rule gave it.
func (res *resolution) setRuleGuidance(answer *schema.Answer) {
	if res.rule == nil {
		return
	}
	answer.Rule = &schema.RuleRef{ID: res.rule.ID, Text: res.rule.Text}
	reason := ""
	if answer.Reason != "" {
		reason = " The reason given: " + answer.Reason
	}
	if answer.Outcome == schema.Deny {
		answer.Guidance = fmt.Sprintf("A rule of %s refused this (%s). Nothing was run, and asking again changes nothing while the rule holds: do not try to reach the same end another way.%s", res.rule.CreatedBy, res.rule.Text, reason)
		return
	}
	answer.Guidance = fmt.Sprintf("A rule of %s approved exactly this (%s).%s", res.rule.CreatedBy, res.rule.Text, reason)
}

// applyRulesToPending has rules answer what is pending: what was asked after they were made
// and is still there because the hub stopped in between; of a rule with applyNow, all
// that it covers.
func (h *Hub) applyRulesToPending(ctx context.Context, onlyRule int64) {
	pending, err := h.Store.Pending(ctx)
	if err != nil {
		h.Log.Error("looking for open questions that a rule covers; they are left to a person", "err", err)
		return
	}
	for _, e := range pending {
		risk, unanswered, err := pendingRisk(e)
		var q schema.HumanInTheLoop
		if err != nil || !unanswered || json.Unmarshal(e.Question, &q) != nil || q.Type != schema.Permission {
			continue
		}
		call := ruleCall(e, &q, risk)
		if onlyRule != 0 {
			call.ID = 0 // whenever it was asked
		}
		h.decideByRule(ctx, e.ID, call, onlyRule)
	}
}

// loadRules takes up the rules as they are stored.
func (h *Hub) loadRules(ctx context.Context) error {
	h.rulesMu.Lock()
	defer h.rulesMu.Unlock()
	live, err := h.Store.LiveRules(ctx, h.Clock())
	if err != nil {
		h.rules.Store(nil) // rather no rule than one that was revoked
		return err
	}
	entries := make([]rules.StoredRule, len(live))
	for i, r := range live {
		entries[i] = rules.StoredRule{Rule: r.Rule, After: r.After, Since: r.Since}
	}
	set, err := rules.NewSet(entries)
	if err != nil {
		h.Log.Error("what it may cover is left to a person", "err", err)
	}
	h.rules.Store(set)
	return nil
}

// initRules takes up the rules when the hub begins. One that ends with a session may
// have missed the end.
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
		h.Log.Error("looking for rules; none holds until the hub is started again", "err", err)
	}
}

// endSessionRules ends the rules that hold no longer than a session.
func (h *Hub) endSessionRules(ctx context.Context, end *store.Event) {
	if !h.rules.Load().EndsWith(end.App, end.Session) {
		return
	}
	err := h.Store.EndRules(ctx, end.App, end.Session, h.Clock())
	if err = cmp.Or(err, h.loadRules(ctx)); err != nil {
		h.Log.Error("ending the rules of a session that is over", "session", end.Session, "err", err)
	}
}

// shiftRules keeps rules from holding longer because the clock was set back. One that
// was set on, or a machine that slept, ends them early: eight hours are eight hours.
func (h *Hub) shiftRules(ctx context.Context, now time.Time, step time.Duration) {
	if step >= 0 || h.rules.Load() == nil {
		return
	}
	err := h.Store.MoveRules(ctx, now, step)
	if err = cmp.Or(err, h.loadRules(ctx)); err != nil {
		h.rules.Store(nil)
		h.Log.Error("the ends of rules could not be moved along with the clock; none holds", "err", err)
	}
}

// requireRuleAccess refuses who may not make or revoke a rule: one that goes for more than a
// session takes an admin, as do people and channels.
func (h *Hub) requireRuleAccess(caller Caller, beyondSession bool) error {
	if beyondSession {
		return h.People.RequireAdmin(caller.Who)
	}
	return h.People.RequireOperator(caller.Who)
}

// compileDraft makes a rule of a draft. A rules.IneligibleError comes with the rule.
func (h *Hub) compileDraft(ctx context.Context, d *schema.RuleDraft, caller Caller) (*schema.Rule, error) {
	var call *rules.Call
	if d.From > 0 {
		s, err := h.readSnapshot(ctx, d.From)
		if err != nil {
			return nil, err
		}
		from := responder{caller.Who, h.callerProcess(caller)}
		if from.describe(s.RequesterProcess).SelfApproval {
			return nil, &schema.HintError{Err: schema.ErrSelfApproval, Hint: "The rule came from a program that the asking one started. Make it in the dashboard."}
		}
		call = ruleCall(&s.Event, &s.hitl, s.status.Risk)
		call.Several = call.Several || len(s.status.Recipients) > 0
	} else {
		call = &rules.Call{} // the draft is refused for it
	}
	return rules.Compile(d, call, cmp.Or(caller.Who.Name, localName), h.nowMillis())
}

// MakeRule makes a rule, as schema.Rule. It answers what is asked from now on, and with
// ApplyNow what is pending.
func (h *Hub) MakeRule(ctx context.Context, d *schema.RuleDraft, caller Caller) ([]byte, error) {
	if err := h.requireRuleAccess(caller, d.Reach != schema.ReachSession); err != nil {
		return nil, err
	}
	h.detectClockStep(context.WithoutCancel(ctx)) // before its end is reckoned
	rule, err := h.compileDraft(ctx, d, caller)
	if reason := rules.IneligibleError(""); errors.As(err, &reason) {
		return nil, &schema.HintError{Err: schema.ErrNoRule, Hint: string(reason)}
	}
	if err != nil {
		return nil, err
	}
	created, err := h.Store.MakeRule(ctx, *rule)
	if err != nil {
		return nil, err
	}
	if err := h.loadRules(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	if d.ApplyNow {
		h.applyRulesToPending(context.WithoutCancel(ctx), created.ID)
	}
	list, err := h.Store.Rules(ctx, 1)
	if err == nil && len(list) == 1 && list[0].ID == created.ID {
		created = list[0] // with its first uses
	}
	return json.Marshal(created.Rule)
}

// RevokeRule ends a rule and returns it, as schema.Rule. It decides nothing from the
// moment on that this is stored.
func (h *Hub) RevokeRule(ctx context.Context, id int64, caller Caller) ([]byte, error) {
	if err := h.requireRuleAccess(caller, false); err != nil {
		return nil, err
	}
	r, err := h.Store.RevokeRule(ctx, id, cmp.Or(caller.Who.Name, localName), h.Clock())
	if err != nil {
		return nil, err
	}
	if err := h.loadRules(context.WithoutCancel(ctx)); err != nil {
		h.Log.Error("taking up the rules after one was revoked; none holds now", "err", err)
	}
	return json.Marshal(r.Rule)
}

// Rules is an array of the newest rules, as schema.Rule.
func (h *Hub) Rules(ctx context.Context) ([]byte, error) {
	list, err := h.Store.Rules(ctx, maxRulesListed)
	if err != nil {
		return nil, err
	}
	all := make([]schema.Rule, len(list))
	for i := range list {
		all[i] = list[i].Rule
	}
	return json.Marshal(all)
}
