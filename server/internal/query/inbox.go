package query

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/sessions/digest"
	"github.com/hookback/hookback/server/internal/store"
)

// The inbox under /hitl and the approvals under /api present questions in the terms of
// other systems.

// canVote reports whether the caller may vote in general. Each question has its own
// check.
func (s *Service) canVote(identity auth.Identity) bool {
	return s.People.Check(schema.AccessDecide, identity) == nil
}

// InboxQuery is a query for requests, as seen by one caller.
type InboxQuery struct {
	store.InboxFilter
	WaitingOnMe bool
}

// Requests returns a page of the inbox, newest first.
func (s *Service) Requests(ctx context.Context, q InboxQuery, me auth.Identity) (inbox.HitlPage, error) {
	page := inbox.HitlPage{Requests: []inbox.HitlRequest{}}
	if q.WaitingOnMe {
		if !s.canVote(me) {
			return page, nil
		}
		q.Everyone, q.Awaiting = true, me.Name
	}
	events, more, err := s.Store.Inbox(ctx, q.InboxFilter)
	if err != nil {
		return page, err
	}
	for _, e := range events {
		r, err := s.hitlRequest(e, me)
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
func (s *Service) Request(ctx context.Context, id schema.EventID, me auth.Identity) (inbox.HitlRequest, error) {
	q, err := s.Store.Question(ctx, id)
	if err != nil {
		return inbox.HitlRequest{}, err
	}
	return s.hitlRequest(&q.Event, me)
}

func (s *Service) hitlRequest(e *store.Event, me auth.Identity) (r inbox.HitlRequest, err error) {
	var q schema.HumanInTheLoop
	var st schema.Status
	if err = q.UnmarshalJSON(e.Question); err == nil {
		err = json.Unmarshal(e.Status, &st)
	}
	if err != nil {
		return r, fmt.Errorf("read stored question %d: %w", e.ID, err)
	}
	r = inbox.HitlRequest{
		RequestID: e.ID, Status: inbox.StatusOf(&st), Type: q.Type, Prompt: q.Question, Choices: choiceLabels(&q),
		AllowOther: q.Type == schema.Choice && q.AllowOther, Agent: e.App, AgentPath: q.AgentPath, SessionID: e.Session, ToolCall: q.ToolCall, Risk: st.Risk,
		CreatedAt: schema.Millis(e.ReceivedAt.UnixMilli()), ExpiresAt: st.ExpiresAt, DecidedAt: st.RespondedAt, Revision: max(st.Revision, 1),
		RequiredApprovals: max(q.RequiredApprovals, st.RequiredApprovals, 1), Recipients: st.Recipients,
		Awaiting: nonNil(st.Awaiting), Votes: nonNil(st.Votes), Reminders: st.Reminders, EscalatedAt: st.EscalatedAt,
		Outcome: st.Outcome, Source: st.Source, Reason: st.Reason,
	}
	digest.EachMember(e.EnvelopeObject(), func(name string, value []byte) {
		switch name {
		case "agent_id":
			r.AgentID = digest.StringValue(value)
		case "agent_type":
			r.AgentType = digest.StringValue(value)
		case "model_name":
			r.ModelName = digest.StringValue(value)
		}
	})
	if c := question.CallOf(e, &q); c.Exists() && (r.ToolCall == nil || r.ToolCall.ArgumentsRef != "") {
		r.ToolCall = &schema.ToolCall{Name: c.Name, Arguments: c.Arguments}
	}
	r.WaitingOnMe = r.Status == inbox.HitlPending && s.canVote(me) && (st.Recipients == nil || slices.Contains(st.Awaiting, me.Name))
	if st.RespondedBy != nil {
		r.DecidedBy = st.RespondedBy.Name
	}
	if r.Status == inbox.HitlCancelled {
		r.CancellationReason = cmp.Or(st.Reason, schema.EndText(st.Outcome, st.Source))
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
func (s *Service) HitlStats(ctx context.Context, days StatsRange, me auth.Identity) (inbox.HitlStats, error) {
	st, err := s.Store.InboxCounts(ctx, me.Name)
	if err != nil {
		return st, err
	}
	if !s.canVote(me) {
		st.WaitingOnMe = 0
	}
	edges, err := days.Edges(s.Clock())
	if err != nil {
		return st, err
	}
	counts, err := s.Store.InboxDays(ctx, edges, days.Agents)
	if err != nil {
		return st, err
	}
	st.Days = make([]inbox.HitlDay, len(counts))
	for i, c := range counts {
		st.Days[i] = inbox.HitlDay{Day: edges[i].In(days.Zone).Format(time.DateOnly), HitlCounts: c}
		sum := st.Counts.All()
		for status, n := range c.All() {
			*sum[status] += *n
		}
	}
	return st, nil
}

// Edges returns the start of each day in the range, followed by the end of the last
// one. The first and last day are cut if the range begins or ends within them.
func (s *StatsRange) Edges(now time.Time) ([]time.Time, error) {
	if s.From.IsZero() {
		return DayStarts(now.In(s.Zone), s.Days), nil
	}
	to := s.To
	if to.IsZero() {
		to = now.Add(time.Millisecond)
	}
	if !to.After(s.From) {
		return nil, invalidField("to", "must be after from")
	}
	days := 1
	for ; days <= history.MaxDays && DayStarts(to.Add(-1).In(s.Zone), days)[0].After(s.From); days++ {
	}
	if days > history.MaxDays {
		return nil, invalidField("from", "must not be more than %d days before to", history.MaxDays)
	}
	edges := DayStarts(to.Add(-1).In(s.Zone), days)
	edges[0], edges[days] = s.From, to
	return edges, nil
}

// Approvals returns the pending permissions, oldest first, up to MaxPageBytes.
func (s *Service) Approvals(ctx context.Context) ([]inbox.Approval, error) {
	events, err := s.Store.Pending(ctx)
	if err != nil {
		return nil, err
	}
	approvals, size := []inbox.Approval{}, 0
	for _, e := range events {
		approval, err := approvalOf(e)
		if err != nil {
			return nil, err
		}
		if approval == nil {
			continue
		}
		if size += len(approval.Arguments) + len(approval.UserPrompt) + len(approval.Message) + 256; size > MaxPageBytes {
			break
		}
		approvals = append(approvals, *approval)
	}
	return approvals, nil
}

// Approval returns one pending permission. For a settled one the error has its status.
func (s *Service) Approval(ctx context.Context, id schema.EventID) (inbox.Approval, error) {
	q, st, err := s.question(ctx, id)
	if err != nil {
		return inbox.Approval{}, err
	}
	approval, err := approvalOf(&q.Event)
	switch {
	case err != nil:
		return inbox.Approval{}, err
	case approval == nil:
		return inbox.Approval{}, schema.ErrNoQuestion
	case st.IsSettled():
		return inbox.Approval{}, question.SettledError(st)
	default:
		return *approval, nil
	}
}

// approvalOf returns the approval of a permission, or nil for another question.
func approvalOf(e *store.Event) (*inbox.Approval, error) {
	var q schema.HumanInTheLoop
	if err := q.UnmarshalJSON(e.Question); err != nil {
		return nil, fmt.Errorf("read stored question %d: %w", e.ID, err)
	}
	if q.Type != schema.Permission {
		return nil, nil
	}
	c := question.CallOf(e, &q)
	approval := inbox.Approval{
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

// question reads a question with its status.
func (s *Service) question(ctx context.Context, id schema.EventID) (*store.Question, *schema.Status, error) {
	q, err := s.Store.Question(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	var st schema.Status
	if err := json.Unmarshal(q.Status, &st); err != nil {
		return nil, nil, fmt.Errorf("read stored status of question %d: %w", id, err)
	}
	return q, &st, nil
}

// DayStarts returns the start of each of the last days, followed by the end of the last
// one.
func DayStarts(now time.Time, days int) []time.Time {
	starts := make([]time.Time, 0, days+1)
	for i := 1 - days; i <= 1; i++ {
		noon := time.Date(now.Year(), now.Month(), now.Day()+i, 12, 0, 0, 0, now.Location())
		start := time.Date(noon.Year(), noon.Month(), noon.Day(), 0, 0, 0, 0, now.Location())
		for start.Day() != noon.Day() { // no midnight on this day (daylight saving time)
			start = start.Add(store.QuarterMS * time.Millisecond)
		}
		starts = append(starts, start)
	}
	return starts
}

// VoteResponse converts a vote on a question to a response.
func (s *Service) VoteResponse(ctx context.Context, id schema.EventID, v *inbox.HitlVote) (*schema.Response, error) {
	stored, err := s.Store.Question(ctx, id)
	if err != nil {
		return nil, err
	}
	var q schema.HumanInTheLoop
	if err := q.UnmarshalJSON(stored.Event.Question); err != nil {
		return nil, fmt.Errorf("read stored question %d: %w", id, err)
	}
	r := &schema.Response{Comment: v.Comment, Reason: v.Reason, ModifiedArguments: v.ModifiedArguments, Revision: v.Revision, Proof: v.Proof}
	switch {
	case len(q.Questions) > 0:
		r.Answers = v.Answers
	case q.Type == schema.FreeText, q.Type == schema.Choice && q.AllowOther && !slices.Contains(q.Choices, v.Choice):
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

// ApprovalResponse converts an answer to an approval to the response to its question.
func ApprovalResponse(a *inbox.AgentApproval) (schema.EventID, *schema.Response, error) {
	id, err := strconv.ParseInt(string(a.ApprovalID), 10, 64)
	if err != nil || id < 1 {
		return 0, nil, schema.ErrNotFound
	}
	approved, err := a.Decision()
	if err != nil {
		return 0, nil, err
	}
	r := &schema.Response{Permission: &approved, Reason: a.Reason}
	if !approved && a.Reason == "" {
		r.Reason = inbox.DefaultDenial
	}
	return schema.EventID(id), r, nil
}
