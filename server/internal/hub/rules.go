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
func ruleCall(e *store.Event, q *schema.HumanInTheLoop, known schema.Risk) *rules.Call {
	c := &rules.Call{
		ID: e.ID, Kind: q.Type, App: e.App, Session: e.Session, Own: q.Risk, Risk: known,
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
func pendingRisk(e *store.Event) (risk schema.Risk, open bool, err error) {
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
	risk, open, err := pendingRisk(e)
	if err != nil || !open {
		return e
	}
	if done := h.decideByRule(ctx, e.ID, ruleCall(e, q, risk), 0); done != nil {
		return done
	}
	return e
}

// decideByRule has the rules answer a question about a call, with only set no other rule than
// this one, and returns it as it is then; nil: it is left to a person. A rule that was
// revoked meanwhile makes room for the others.
func (h *Hub) decideByRule(ctx context.Context, id schema.EventID, call *rules.Call, only int64) *store.Event {
	for range maxConflictRetries {
		rule := h.rules.Load().Decide(call, h.nowMillis())
		if rule == nil || only != 0 && rule.ID != only {
			return nil
		}
		done, err := h.answerByRule(ctx, id, rule)
		if errors.Is(err, store.ErrRuleEnded) {
			if err = h.loadRules(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			h.Log.Error("a rule could not answer; the question is left to a person", "rule", rule.ID, "event", id, "err", err)
			return nil
		}
		return done
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
	who, known := h.People.IdentityOf(rule.CreatedBy, "rule")
	since, _ := h.People.CreatedAt(rule.CreatedBy)
	if !known || who.Name != rule.CreatedBy || rule.CreatedAt < schema.Millis(since.UnixMilli()) {
		return errors.New("whoever made it is none of this hub's people any more")
	}
	return h.requireRuleAccess(Caller{Who: who}, rule.SessionID == "")
}

// revokeInvalidRule revokes a rule that is upheld no more: everybody sees then why it answers nothing.
func (h *Hub) revokeInvalidRule(ctx context.Context, rule *schema.Rule, why error) error {
	h.Log.Warn("a rule ends whose maker may not make it any more", "rule", rule.ID, "why", why)
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
	return h.transition(ctx, id, func(a *snapshot) (*store.Change, error) {
		if a.status.Settled() || a.undoableAnswer != nil {
			return nil, nil // a person was faster
		}
		if excluded := a.hitl.ExcludeRequester == nil || *a.hitl.ExcludeRequester; excluded && a.Requester != "" && strings.EqualFold(a.Requester, rule.CreatedBy) {
			return nil, errRequesterRule
		}
		yes := rule.Then == schema.ThenAllow
		r := &schema.Response{Permission: &yes, Reason: rule.Reason}
		if err := a.hitl.CheckResponse(r); err != nil {
			return nil, err
		}
		end := &resolution{
			state: schema.Responded, outcome: a.hitl.Outcome(r), source: schema.ByRule, reason: rule.Reason, rule: rule,
			by:     &schema.Responder{Name: fmt.Sprintf("rule %d", rule.ID), Verified: rule.CreatedBy != localName, Via: "rule"},
			answer: schema.Answer{Permission: &yes},
		}
		return end.change(a, h.Clock())
	})
}

// setRuleGuidance says in an answer that a rule gave it.
func (e *resolution) setRuleGuidance(answer *schema.Answer) {
	if e.rule == nil {
		return
	}
	answer.Rule = &schema.RuleRef{ID: e.rule.ID, Text: e.rule.Text}
	because := ""
	if answer.Reason != "" {
		because = " The reason given: " + answer.Reason
	}
	if answer.Outcome == schema.Deny {
		answer.Guidance = fmt.Sprintf("A rule of %s refused this (%s). Nothing was run, and asking again changes nothing while the rule holds: do not try to reach the same end another way.%s", e.rule.CreatedBy, e.rule.Text, because)
		return
	}
	answer.Guidance = fmt.Sprintf("A rule of %s approved exactly this (%s).%s", e.rule.CreatedBy, e.rule.Text, because)
}

// applyRulesToPending has rules answer what is pending: what was asked after they were made
// and is still there because the hub stopped in between; of a rule with applyNow, all
// that it covers.
func (h *Hub) applyRulesToPending(ctx context.Context, only int64) {
	pending, err := h.Store.Pending(ctx)
	if err != nil {
		h.Log.Error("looking for open questions that a rule covers; they are left to a person", "err", err)
		return
	}
	for _, e := range pending {
		risk, open, err := pendingRisk(e)
		var q schema.HumanInTheLoop
		if err != nil || !open || json.Unmarshal(e.Question, &q) != nil || q.Type != schema.Permission {
			continue
		}
		call := ruleCall(e, &q, risk)
		if only != 0 {
			call.ID = 0 // whenever it was asked
		}
		h.decideByRule(ctx, e.ID, call, only)
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
func (h *Hub) requireRuleAccess(by Caller, wide bool) error {
	if wide {
		return h.People.RequireAdmin(by.Who)
	}
	return h.People.RequireOperator(by.Who)
}

// compileDraft makes a rule of a draft. A rules.IneligibleError comes with the rule.
func (h *Hub) compileDraft(ctx context.Context, d *schema.RuleDraft, by Caller) (*schema.Rule, error) {
	var call *rules.Call
	if d.From > 0 {
		a, err := h.readSnapshot(ctx, d.From)
		if err != nil {
			return nil, err
		}
		b := responder{by.Who, h.callerProcess(by)}
		if b.describe(a.RequesterProcess).SelfApproval {
			return nil, &schema.HintError{Err: schema.ErrSelfApproval, Hint: "The rule came from a program that the asking one started. Make it in the dashboard."}
		}
		call = ruleCall(&a.Event, &a.hitl, a.status.Risk)
		call.Several = call.Several || len(a.status.Recipients) > 0
	} else {
		call = &rules.Call{} // the draft is refused for it
	}
	return rules.Compile(d, call, cmp.Or(by.Who.Name, localName), h.nowMillis())
}

// MakeRule makes a rule, as schema.Rule. It answers what is asked from now on, and with
// ApplyNow what is pending.
func (h *Hub) MakeRule(ctx context.Context, d *schema.RuleDraft, by Caller) ([]byte, error) {
	if err := h.requireRuleAccess(by, d.Reach != schema.ReachSession); err != nil {
		return nil, err
	}
	h.detectClockStep(context.WithoutCancel(ctx)) // before its end is reckoned
	rule, err := h.compileDraft(ctx, d, by)
	if why := rules.IneligibleError(""); errors.As(err, &why) {
		return nil, &schema.HintError{Err: schema.ErrNoRule, Hint: string(why)}
	}
	if err != nil {
		return nil, err
	}
	made, err := h.Store.MakeRule(ctx, *rule)
	if err != nil {
		return nil, err
	}
	if err := h.loadRules(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	if d.ApplyNow {
		h.applyRulesToPending(context.WithoutCancel(ctx), made.ID)
	}
	list, err := h.Store.Rules(ctx, 1)
	if err == nil && len(list) == 1 && list[0].ID == made.ID {
		made = list[0] // with its first uses
	}
	return json.Marshal(made.Rule)
}

// RevokeRule ends a rule and returns it, as schema.Rule. It decides nothing from the
// moment on that this is stored.
func (h *Hub) RevokeRule(ctx context.Context, id int64, by Caller) ([]byte, error) {
	if err := h.requireRuleAccess(by, false); err != nil {
		return nil, err
	}
	r, err := h.Store.RevokeRule(ctx, id, cmp.Or(by.Who.Name, localName), h.Clock())
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
