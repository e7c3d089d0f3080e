package question

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

// Respond returns the change that a person's answer makes. The first answer wins: repeating it
// changes nothing, and a different one fails with schema.ErrDecided. An answer with HoldMS
// becomes final only after its undo window.
func (s *Snapshot) Respond(r *schema.Response, from Actor, passkey Assertion, now time.Time) (*store.Change, error) {
	by, err := s.authorize(from)
	if err != nil {
		return nil, err
	}
	if err := s.requireAssertion(r, from.Paired, by, passkey); err != nil {
		return nil, err
	}
	s.excludeSelfApproved(from, by)
	if s.Ask.Outcome(r) == schema.Deny {
		by.SelfApproval = false // a denial grants nothing; the audit log names the process
	}
	if !s.Status.IsSettled() && len(s.Status.Votes) > 0 {
		s.dropRevokedVotes()
	}
	c, err := s.respond(r, by, now)
	if err != nil || c == nil || !by.Passkey {
		return c, err
	}
	return s.withProof(c, passkey.Proof)
}

// ApproveInBulk is Respond for one request of several that a person approves at once. It
// rejects requests that a person has to open.
func (s *Snapshot) ApproveInBulk(approval *schema.Response, from Actor, now time.Time) (*store.Change, error) {
	if !s.Status.IsSettled() && (s.isRisky() || s.Ask.Appeal != nil) {
		return nil, &schema.HintError{
			Err:  &schema.StatusError{Err: schema.ErrRisky, Status: s.Status},
			Hint: "Open this request and answer it there.",
		}
	}
	if !s.Status.IsSettled() && s.Status.RequiredApprovals > 1 {
		return nil, &schema.HintError{
			Err:  &schema.StatusError{Err: schema.ErrRisky, Status: s.Status},
			Hint: "This request needs several approvals. Open it and vote there.",
		}
	}
	// The passkey threshold is a separate setting and may be below the high risk that is rejected above.
	return s.Respond(approval, from, Assertion{}, now)
}

// isRisky reports whether the question is too risky for bulk approval: the hub has a finding of
// medium risk or more about the call, or the agent's own estimate is high.
func (s *Snapshot) isRisky() bool {
	if s.Status.Class == schema.ClassRisky {
		return true
	}
	for _, risk := range []schema.Risk{s.Status.Risk, s.Ask.Risk} {
		if risk == schema.HighRisk || risk == schema.CriticalRisk {
			return true
		}
	}
	return false
}

// AnswerByRule returns the change that a rule's answer makes, or nil if a person answers: one
// was faster, the call needs a passkey, or the question is an appeal: a rule would be a standing
// bypass of the agent's reviewer.
func (s *Snapshot) AnswerByRule(rule *schema.Rule, now time.Time) (*store.Change, error) {
	if s.Status.IsSettled() || s.undoable != nil || s.Ask.Appeal != nil {
		return nil, nil
	}
	s.authority = store.OfAccounts
	if excludesRequester(&s.Ask) && s.Requester != "" && strings.EqualFold(s.Requester, rule.CreatedBy) {
		return nil, errRequesterRule
	}
	allow := rule.Then == schema.ThenAllow
	r := &schema.Response{Permission: &allow, Reason: rule.Reason}
	if s.needsPasskey(r, false) {
		return nil, nil
	}
	if err := s.Ask.CheckResponse(r); err != nil {
		return nil, err
	}
	if s.Status.Probe || approves(s.Ask.Outcome(r)) && s.freeze() != nil {
		return nil, nil // after the freeze, a person decides
	}
	res := &resolution{
		state: schema.Responded, outcome: s.Ask.Outcome(r), source: schema.ByRule, reason: rule.Reason, rule: rule,
		by:     &responder{Responder: schema.Responder{Name: fmt.Sprintf("rule %d", rule.ID), Verified: rule.CreatedBy != store.LocalName, Via: "rule"}},
		answer: schema.Answer{Permission: &allow},
	}
	return res.change(s, now)
}

// errRequesterRule is returned if the requester created the rule: people can't answer
// their own questions through rules.
var errRequesterRule = errors.New("the requester created the rule")

// Cancel returns the change that settles the question without an answer. With a revision it
// also settles the duplicates of that revision whose agents still wait. With the question's
// own request secret the agent withdraws it, and the reason of a hook tells whether the question timed
// out, was dismissed, or lost its agent; a wrong secret is schema.ErrForbidden.
func (s *Snapshot) Cancel(c *schema.Cancel, from Actor, now time.Time) (*store.Change, error) {
	res := &resolution{
		state: schema.Failed, outcome: schema.Cancelled, source: schema.ByCancel,
		reason: c.Reason, by: from.responder(nil), seenRevision: c.Revision,
	}
	if c.RequestSecret != "" {
		if err := s.CheckSecret("requestSecret", c.RequestSecret); err != nil {
			return nil, &schema.HintError{Err: err, Hint: "Omit it to cancel as a person."}
		}
		res.by, res.silent, res.seenRevision = nil, true, 0
		switch c.Reason {
		case schema.ReasonOwnDeadline:
			res.state, res.outcome, res.source = schema.TimedOut, schema.Timeout, schema.ByTimeout
		case schema.ReasonDismissed:
			res.source = schema.ByDismissal
		case schema.ReasonAgentGone:
			res.source = schema.ByOrphaned
		default:
			res.outcome, res.source = schema.Withdrawn, schema.ByAgent
		}
	} else if s.authority = store.OfCaller; !from.IsAdmin {
		if err := s.requireRecipient(res.by); err != nil {
			return nil, err
		}
	}
	switch {
	case !s.Status.IsSettled() && res.seenRevision > s.Status.Revision:
		return nil, &schema.StatusError{Err: schema.ErrStale, Status: s.Status}
	case !s.Status.IsSettled():
		// A cancellation tells waiting agents not to go ahead.
		s.Duplicates = slices.DeleteFunc(s.Duplicates, func(m Duplicate) bool { return m.Status.Waiter == schema.Lost })
		return res.change(s, now)
	case s.Status.Outcome == res.outcome:
		return nil, nil
	default:
		return nil, SettledError(&s.Status)
	}
}

// respond returns the change that a response makes, or nil if it repeats the current
// answer.
func (s *Snapshot) respond(r *schema.Response, by *responder, now time.Time) (*store.Change, error) {
	if err := s.requireRecipient(by); err != nil {
		return nil, err
	}
	if s.Status.IsSettled() {
		if s.isRepeat(r, by) {
			return nil, nil
		}
		return nil, SettledError(&s.Status)
	}
	// Older revisions are accepted: changes while a question is pending, such as
	// whether the agent still waits, don't affect the content that the person approves.
	if r.Revision > s.Status.Revision {
		return nil, &schema.StatusError{Err: schema.ErrStale, Status: s.Status}
	}
	if err := s.Ask.CheckResponse(r); err != nil {
		return nil, err
	}
	if err := s.requireDenial(s.Ask.Outcome(r)); err != nil {
		return nil, err
	}
	if err := s.requireNotFrozen(s.Ask.Outcome(r)); err != nil {
		return nil, err
	}
	if s.Status.RequiredApprovals > 1 {
		return s.vote(r, by, now)
	}
	res := &resolution{
		state: schema.Responded, outcome: s.Ask.Outcome(r), source: schema.ByHuman, reason: r.Reason, by: by, seenRevision: r.Revision,
		answer: schema.Answer{
			Permission: r.Permission, Response: r.Response, Choice: r.Choice, Answers: r.Answers,
			Comment: r.Comment, ModifiedArguments: r.ModifiedArguments, Remember: r.Remember,
			Interrupt: r.Interrupt, AskBack: r.AskBack,
		},
	}
	if requiresVotes(&s.Status) {
		res.votes = []schema.Vote{s.toVote(r, by, now)}
	}
	repeated := s.undoable != nil && equalAnswer(&s.undoable.Answer, r) && s.undoable.RespondedBy.Name == by.Name
	switch until := s.undoableUntil(now, r); {
	case s.undoable != nil && !repeated:
		return nil, &schema.StatusError{Err: schema.ErrHeld, Status: s.Status}
	case repeated && r.HoldMS > 0:
		return nil, nil
	case until.IsZero():
		return res.change(s, now)
	default:
		return res.openUndoWindow(s, now, until)
	}
}

// isRepeat reports whether r repeats the response that by gave before the question was
// settled.
func (s *Snapshot) isRepeat(r *schema.Response, by *responder) bool {
	if s.Status.RequiredApprovals > 1 {
		edited := s.Status.Edited
		sameArguments := edited == nil || r.Revision >= edited.Revision // that by saw
		if r.ModifiedArguments != nil {
			sameArguments = schema.EqualJSON(r.ModifiedArguments, s.arguments())
		}
		return sameArguments && hasVote(s.Status.Votes, s.toVote(r, by, time.Time{}))
	}
	return s.Status.Status == schema.Responded && equalAnswer(s.Status.Response, r) && s.Status.RespondedBy.Name == by.Name
}

// equalAnswer reports whether r has the same content as the stored answer a.
func equalAnswer(a *schema.Answer, r *schema.Response) bool {
	return a != nil && equalPtr(a.Permission, r.Permission) && equalPtr(a.Response, r.Response) && equalPtr(a.Choice, r.Choice) &&
		maps.EqualFunc(a.Answers, r.Answers, schema.EqualJSON) && schema.EqualJSON(a.ModifiedArguments, r.ModifiedArguments) &&
		a.Reason == r.Reason && a.Comment == r.Comment && schema.EqualJSON(a.Remember, r.Remember) &&
		a.Interrupt == r.Interrupt && a.AskBack == r.AskBack
}

func equalPtr[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// A question with a ticket of hookback doctor is marked as a test and counts nowhere. Agents can get
// tickets, so such a question can only be denied: nothing that needs an approval can hide behind one.

// DenyProbe returns the change that denies a question of hookback doctor, with its request secret.
func (s *Snapshot) DenyProbe(secret, reason string, now time.Time) (*store.Change, error) {
	if !s.Status.Probe {
		return nil, schema.ErrForbidden
	}
	if err := s.CheckSecret(schema.SecretHeader, secret); err != nil {
		return nil, err
	}
	if s.Status.IsSettled() {
		return nil, SettledError(&s.Status)
	}
	denied := false
	r := &schema.Response{Permission: &denied, Reason: reason}
	if err := s.Ask.CheckResponse(r); err != nil {
		return nil, err
	}
	res := &resolution{
		state: schema.Responded, outcome: schema.Deny, source: schema.ByRule, reason: reason,
		by: &responder{Responder: schema.Responder{Name: "hookback doctor", Via: "rule"}}, answer: schema.Answer{Permission: &denied},
	}
	return res.change(s, now)
}
