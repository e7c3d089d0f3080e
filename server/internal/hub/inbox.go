package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/store"
)

// The inbox under /hitl and the approvals under /api present questions in the terms of
// other systems. They contain no decision logic: each operation maps to one of the
// hub's.

// canVote reports whether the caller may vote in general. Each question has its own
// check.
func (h *Hub) canVote(identity auth.Identity) bool {
	return h.People.Check(schema.AccessDecide, identity) == nil
}

// InboxQuery is a query for requests, as seen by one caller.
type InboxQuery struct {
	store.InboxFilter
	WaitingOnMe bool
}

// Requests returns a page of the inbox, newest first.
func (h *Hub) Requests(ctx context.Context, q InboxQuery, caller Caller) (schema.HitlPage, error) {
	page := schema.HitlPage{Requests: []schema.HitlRequest{}}
	if q.WaitingOnMe {
		if !h.canVote(caller.Identity) {
			return page, nil
		}
		q.Everyone, q.Awaiting = true, caller.Identity.Name
	}
	events, more, err := h.Store.Inbox(ctx, q.InboxFilter)
	if err != nil {
		return page, err
	}
	for _, e := range events {
		r, err := h.hitlRequest(e, caller.Identity)
		if err != nil {
			return page, err
		}
		page.Requests = append(page.Requests, r)
	}
	if more && len(events) > 0 {
		page.NextCursor = events[len(events)-1].ID.String()
	}
	return page, nil
}

// Request returns one request of the inbox.
func (h *Hub) Request(ctx context.Context, id schema.EventID, caller Caller) (schema.HitlRequest, error) {
	s, err := h.readSnapshot(ctx, id)
	if err != nil {
		return schema.HitlRequest{}, err
	}
	return h.hitlRequest(&s.Event, caller.Identity)
}

func (h *Hub) hitlRequest(e *store.Event, me auth.Identity) (r schema.HitlRequest, err error) {
	var q schema.HumanInTheLoop
	var st schema.Status
	if err = q.UnmarshalJSON(e.Question); err == nil {
		err = json.Unmarshal(e.Status, &st)
	}
	if err != nil {
		return r, fmt.Errorf("read stored question %d: %w", e.ID, err)
	}
	r = schema.HitlRequest{
		RequestID: e.ID, Status: st.HitlStatus(), Type: q.Type, Prompt: q.Question, Choices: choiceLabels(&q),
		Agent: e.App, AgentPath: q.AgentPath, SessionID: e.Session, ToolCall: q.ToolCall, Risk: st.Risk,
		CreatedAt: schema.Millis(e.ReceivedAt.UnixMilli()), ExpiresAt: st.ExpiresAt, DecidedAt: st.RespondedAt, Revision: max(st.Revision, 1),
		RequiredApprovals: max(q.RequiredApprovals, st.RequiredApprovals, 1), Recipients: st.Recipients,
		Awaiting: nonNil(st.Awaiting), Votes: nonNil(st.Votes), Reminders: st.Reminders, EscalatedAt: st.EscalatedAt,
		Outcome: st.Outcome, Source: st.Source, Reason: st.Reason,
	}
	var agent struct {
		ID    string `json:"agent_id"`
		Type  string `json:"agent_type"`
		Model string `json:"model_name"`
	}
	_ = json.Unmarshal(slices.Concat([]byte("{"), e.Envelope, []byte("}")), &agent) // members of the wrong type count as absent
	r.AgentID, r.AgentType, r.ModelName = agent.ID, agent.Type, agent.Model
	if c, ok := question.CallOf(e, &q); ok && r.ToolCall == nil {
		r.ToolCall = &schema.ToolCall{Name: c.Name, Arguments: c.Arguments}
	}
	r.WaitingOnMe = r.Status == schema.HitlPending && h.canVote(me) && (st.Recipients == nil || slices.Contains(st.Awaiting, me.Name))
	if st.RespondedBy != nil {
		r.DecidedBy = st.RespondedBy.Name
	}
	if st.Outcome == schema.Cancelled {
		r.CancellationReason = st.Reason
	}
	if a := st.Response; a != nil {
		r.Answers, r.Comment = a.Answers, a.Comment
		if a.Response != nil {
			r.Response = *a.Response
		}
	}
	if st.Delivery != nil {
		r.Delivery = st.Delivery.State
	}
	return r, nil
}

// choiceLabels returns the valid choices of a vote. It is empty for a free-text
// question.
func choiceLabels(q *schema.HumanInTheLoop) []string {
	switch q.Type {
	case schema.Permission:
		return []string{string(schema.Approve), string(schema.Deny)}
	case schema.Choice:
		return q.Choices
	default:
		return []string{}
	}
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Vote is Respond in the terms of the inbox.
func (h *Hub) Vote(ctx context.Context, id schema.EventID, v *schema.HitlVote, caller Caller) (schema.HitlRequest, error) {
	s, err := h.readSnapshot(ctx, id)
	if err != nil {
		return schema.HitlRequest{}, err
	}
	r, err := responseFromVote(&s.Ask, v)
	if err != nil {
		return schema.HitlRequest{}, err
	}
	if _, err := h.Respond(ctx, id, r, caller); err != nil {
		return schema.HitlRequest{}, err
	}
	return h.Request(ctx, id, caller)
}

// responseFromVote converts a vote on q to a response.
func responseFromVote(q *schema.HumanInTheLoop, v *schema.HitlVote) (*schema.Response, error) {
	r := &schema.Response{Comment: v.Comment, Reason: v.Reason, ModifiedArguments: v.ModifiedArguments, Revision: v.Revision, Proof: v.Proof}
	switch {
	case len(q.Questions) > 0:
		r.Answers = v.Answers
	case q.Type == schema.FreeText:
		r.Response = &v.Choice
	case q.Type == schema.Choice:
		r.Choice = &v.Choice
	default:
		approve := v.Choice == string(schema.Approve)
		if !approve && v.Choice != string(schema.Deny) {
			return nil, &schema.FieldError{Field: "choice", Detail: "must be approve or deny", Cause: schema.ErrWrongAnswer}
		}
		r.Permission = &approve
	}
	return r, nil
}

// CancelRequest is Cancel by a person in the terms of the inbox.
func (h *Hub) CancelRequest(ctx context.Context, id schema.EventID, c schema.HitlCancel, caller Caller) (schema.HitlRequest, error) {
	if _, err := h.Cancel(ctx, id, schema.Cancel{Reason: c.Reason, Revision: c.Revision}, caller); err != nil {
		return schema.HitlRequest{}, err
	}
	return h.Request(ctx, id, caller)
}

// StatsRange selects the requests that HitlStats counts: those created from From
// (inclusive) to To (exclusive), grouped by days in Zone. If From is zero, the range is
// the last Days days.
type StatsRange struct {
	From, To time.Time
	Days     int
	Zone     *time.Location
	Agents   []string
}

// HitlStats returns the counts of the inbox: current ones, and per day of the range.
func (h *Hub) HitlStats(ctx context.Context, days StatsRange, caller Caller) (schema.HitlStats, error) {
	st, err := h.Store.InboxCounts(ctx, caller.Identity.Name)
	if err != nil {
		return st, err
	}
	if !h.canVote(caller.Identity) {
		st.WaitingOnMe = 0
	}
	edges, err := days.dayEdges(h.Clock())
	if err != nil {
		return st, err
	}
	counts, err := h.Store.InboxDays(ctx, edges, days.Agents)
	if err != nil {
		return st, err
	}
	st.Days = make([]schema.HitlDay, len(counts))
	for i, c := range counts {
		st.Days[i] = schema.HitlDay{Day: edges[i].In(days.Zone).Format(time.DateOnly), HitlCounts: c}
		sum := st.Counts.All()
		for status, n := range c.All() {
			*sum[status] += *n
		}
	}
	return st, nil
}

// dayEdges returns the start of each day in the range, followed by the end of the last
// one. The first and last day are cut if the range begins or ends within them.
func (s *StatsRange) dayEdges(now time.Time) ([]time.Time, error) {
	if s.From.IsZero() {
		return dayStarts(now.In(s.Zone), s.Days), nil
	}
	to := s.To
	if to.IsZero() {
		to = now.Add(time.Millisecond)
	}
	if !to.After(s.From) {
		return nil, invalidField("to", "must be after from")
	}
	days := 1
	for ; days <= schema.MaxDays && dayStarts(to.Add(-1).In(s.Zone), days)[0].After(s.From); days++ {
	}
	if days > schema.MaxDays {
		return nil, invalidField("from", "must not be more than %d days before to", schema.MaxDays)
	}
	edges := dayStarts(to.Add(-1).In(s.Zone), days)
	edges[0], edges[days] = s.From, to
	return edges, nil
}

// Approvals returns the pending permissions, oldest first, up to maxPageBytes.
func (h *Hub) Approvals(ctx context.Context) ([]schema.Approval, error) {
	events, err := h.Store.Pending(ctx)
	if err != nil {
		return nil, err
	}
	approvals, size := []schema.Approval{}, 0
	for _, e := range events {
		approval, err := approvalOf(e)
		if err != nil {
			return nil, err
		}
		if approval == nil {
			continue
		}
		if size += len(approval.Arguments) + len(approval.UserPrompt) + len(approval.Message) + 256; size > maxPageBytes {
			break
		}
		approvals = append(approvals, *approval)
	}
	return approvals, nil
}

// Approval returns one pending permission. For a settled one the error has its status.
func (h *Hub) Approval(ctx context.Context, id schema.EventID) (schema.Approval, error) {
	s, err := h.readSnapshot(ctx, id)
	if err != nil {
		return schema.Approval{}, err
	}
	approval, err := approvalOf(&s.Event)
	switch {
	case err != nil:
		return schema.Approval{}, err
	case approval == nil:
		return schema.Approval{}, schema.ErrNoQuestion
	case s.Status.IsSettled():
		return schema.Approval{}, s.SettledError()
	default:
		return *approval, nil
	}
}

// approvalOf returns the approval of a permission, or nil for another question.
func approvalOf(e *store.Event) (*schema.Approval, error) {
	var q schema.HumanInTheLoop
	if err := q.UnmarshalJSON(e.Question); err != nil {
		return nil, fmt.Errorf("read stored question %d: %w", e.ID, err)
	}
	if q.Type != schema.Permission {
		return nil, nil
	}
	c, _ := question.CallOf(e, &q)
	approval := schema.Approval{
		ID: e.ID.String(), ToolName: c.Name, Arguments: c.Arguments, Message: q.Question,
		RequestedAt: e.ReceivedAt.UTC().Format(time.RFC3339), SessionID: e.Session,
	}
	if len(approval.Arguments) == 0 || approval.Arguments[0] != '{' {
		approval.Arguments = json.RawMessage(`{}`)
	}
	if q.Context != nil {
		approval.UserPrompt = q.Context.UserPrompt
	}
	return &approval, nil
}

// AgentApprove is Respond to a permission, identified by the id of its approval.
func (h *Hub) AgentApprove(ctx context.Context, a *schema.AgentApproval, caller Caller) ([]byte, error) {
	id, err := strconv.ParseInt(string(a.ApprovalID), 10, 64)
	if err != nil || id < 1 {
		return nil, schema.ErrNotFound
	}
	approved, err := a.Decision()
	if err != nil {
		return nil, err
	}
	r := &schema.Response{Permission: &approved, Reason: a.Reason}
	if !approved && a.Reason == "" {
		r.Reason = schema.DefaultDenial
	}
	return h.Respond(ctx, schema.EventID(id), r, caller)
}
