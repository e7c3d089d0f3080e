package httpapi

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/query"
)

// requestHandlers returns the handlers of the routes of questions and their answers, those in the formats of
// other systems included (schema/inbox), and of the rules that answer questions.
func (s *Server) requestHandlers() map[string]handler {
	all := map[string]handler{
		"POST " + schema.PathRespond: byID(func(r *request, id schema.EventID, answer schema.Response) ([]byte, error) {
			return s.Hub.Respond(r, id, &answer, r.by)
		}),
		"POST " + schema.PathCancel: byID(func(r *request, id schema.EventID, request schema.Cancel) ([]byte, error) {
			return s.Hub.Cancel(r, id, request, r.by)
		}),
		"POST " + schema.PathExtend:       byID(s.extend),
		"POST " + schema.PathUndo:         byID(func(r *request, id schema.EventID, _ none) ([]byte, error) { return s.Hub.Undo(r, id, r.by) }),
		"POST " + schema.PathRedeliver:    byID(func(r *request, id schema.EventID, _ none) ([]byte, error) { return s.Hub.Redeliver(r, id, r.by) }),
		"POST " + schema.PathHandled:      byID(func(r *request, id schema.EventID, _ none) ([]byte, error) { return s.Hub.MarkHandled(r, id, r.by) }),
		"POST " + schema.PathApprove:      handle(func(r *request, list schema.Approvals) ([]byte, error) { return s.Hub.ApproveAll(r, &list, r.by) }),
		"POST " + schema.PathTestRequests: handle(s.startTestRequest),

		"GET " + inbox.PathApprovals:     get(s.Query.Approvals),
		"GET " + inbox.PathApprovalFeed:  raw(s.streamApprovals),
		"GET " + inbox.PathApproval:      byID(func(r *request, id schema.EventID, _ none) (inbox.Approval, error) { return s.Query.Approval(r, id) }),
		"POST " + inbox.PathApproveCall:  byID(s.approveCall),
		"POST " + inbox.PathRejectCall:   byID(s.rejectCall),
		"POST " + inbox.PathAgentApprove: handle(s.agentApprove),

		"GET " + schema.PathRules:        get(s.Query.Rules),
		"POST " + schema.PathRules:       handle(func(r *request, d schema.RuleDraft) ([]byte, error) { return s.Hub.CreateRule(r, &d, r.by) }),
		"POST " + schema.PathRulePreview: handle(func(r *request, d schema.RuleDraft) ([]byte, error) { return s.Hub.PreviewRule(r, &d, r.by) }),
		"DELETE " + schema.PathRule: byID(func(r *request, id schema.EventID, _ none) ([]byte, error) {
			return s.Hub.RevokeRule(r, int64(id), r.by)
		}),
		"GET " + history.PathAutomatic: handle(func(r *request, _ none) (history.AutomaticPage, error) {
			return s.Query.Automatic(r, schema.EventID(r.number("before")), int(r.number("limit")))
		}),
	}
	for route, h := range map[[2]string]handler{
		{"GET ", inbox.PathHitlRequests}: handle(s.hitlRequests),
		{"GET ", inbox.PathHitlRequest}: byID(func(r *request, id schema.EventID, _ none) (inbox.HitlRequest, error) {
			return s.Query.Request(r, id, r.by.Identity)
		}),
		{"POST ", inbox.PathHitlVote}:   byID(s.hitlVote),
		{"POST ", inbox.PathHitlCancel}: byID(s.hitlCancel),
		{"GET ", inbox.PathHitlStats}:   handle(s.hitlStats),
	} {
		all[route[0]+route[1]] = h
		all[route[0]+inbox.PathAuthenticated+route[1]] = h
	}
	return all
}

// extend refuses an empty body, which would remove the deadline.
func (s *Server) extend(r *request, id schema.EventID, body json.RawMessage) ([]byte, error) {
	extension, err := decode[schema.Extend](body, false)
	if err != nil {
		return nil, err
	}
	return s.Hub.Extend(r, id, &extension, r.by)
}

func (s *Server) hitlRequests(r *request, _ none) (page inbox.HitlPage, err error) {
	q := query.InboxQuery{}
	q.From, q.To = timeFromMillis(r.number("from")), timeFromMillis(r.number("to"))
	q.Before, q.Limit, q.Status = schema.EventID(r.number("cursor")), int(r.number("limit")), inbox.HitlStatus(r.Query("status"))
	if q.Agents, err = queryAgents(r); err != nil {
		return page, err
	}
	if q.Status != "" && !slices.Contains(inbox.HitlStatuses, q.Status) {
		return page, &schema.FieldError{Field: "status", Detail: "must be pending, decided, expired or cancelled"}
	}
	switch r.Query("waiting_on_me") {
	case "", "false", "0":
	case "true", "1":
		q.WaitingOnMe = true
	default:
		return page, &schema.FieldError{Field: "waiting_on_me", Detail: "must be true or false"}
	}
	return s.Query.Requests(r, q, r.by.Identity)
}

// queryAgents returns the values of the parameter agent, which may be repeated.
func queryAgents(r *request) ([]string, error) {
	var names []string
	for _, value := range r.Ctx.Context().QueryArgs().PeekMulti("agent") {
		if len(value) > 0 {
			names = append(names, strings.Clone(string(value)))
		}
	}
	if len(names) > inbox.MaxHitlAgents {
		return nil, &schema.FieldError{Field: "agent", Detail: "must not occur more than 100 times"}
	}
	return names, nil
}

func (s *Server) hitlVote(r *request, id schema.EventID, v inbox.HitlVote) (inbox.HitlRequest, error) {
	answer, err := s.Query.VoteResponse(r, id, &v)
	if err == nil {
		_, err = s.Hub.Respond(r, id, answer, r.by)
	}
	if err != nil {
		return inbox.HitlRequest{}, err
	}
	return s.Query.Request(r, id, r.by.Identity)
}

func (s *Server) hitlCancel(r *request, id schema.EventID, request inbox.HitlCancel) (inbox.HitlRequest, error) {
	if _, err := s.Hub.Cancel(r, id, schema.Cancel{Reason: request.Reason, Revision: request.Revision}, r.by); err != nil {
		return inbox.HitlRequest{}, err
	}
	return s.Query.Request(r, id, r.by.Identity)
}

func (s *Server) hitlStats(r *request, _ none) (stats inbox.HitlStats, err error) {
	of := query.StatsRange{Days: int(r.number("days")), From: timeFromMillis(r.number("from")), To: timeFromMillis(r.number("to"))}
	if of.Zone, err = timeZone(r); err != nil {
		return stats, err
	}
	if of.Agents, err = queryAgents(r); err != nil {
		return stats, err
	}
	return s.Query.HitlStats(r, of, r.by.Identity)
}

func (s *Server) approveCall(r *request, id schema.EventID, call inbox.ApproveCall) ([]byte, error) {
	yes := true
	return s.Hub.Respond(r, id, &schema.Response{Permission: &yes, ModifiedArguments: call.ModifiedArguments, Proof: call.Proof}, r.by)
}

func (s *Server) rejectCall(r *request, id schema.EventID, call inbox.RejectCall) ([]byte, error) {
	no := false
	return s.Hub.Respond(r, id, &schema.Response{Permission: &no, Reason: cmp.Or(call.Reason, r.Query("reason"))}, r.by)
}

func (s *Server) agentApprove(r *request, a inbox.AgentApproval) ([]byte, error) {
	id, answer, err := query.ApprovalResponse(&a)
	if err != nil {
		return nil, err
	}
	return s.Hub.Respond(r, id, answer, r.by)
}
