package httpapi

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/query"
)

// inboxHandlers returns the handlers of routes that follow the naming of other systems
// (schema/inbox.go).
func (s *Server) inboxHandlers() map[string]fiber.Handler {
	all := map[string]fiber.Handler{
		"GET " + inbox.PathApprovals:     s.approvals,
		"GET " + inbox.PathApproval:      s.approval,
		"POST " + inbox.PathApproveCall:  s.approveCall,
		"POST " + inbox.PathRejectCall:   s.rejectCall,
		"POST " + inbox.PathAgentApprove: s.agentApprove,
	}
	for route, handler := range map[[2]string]fiber.Handler{
		{"GET ", inbox.PathHitlRequests}: s.hitlRequests,
		{"GET ", inbox.PathHitlRequest}:  s.hitlRequest,
		{"POST ", inbox.PathHitlVote}:    s.hitlVote,
		{"POST ", inbox.PathHitlCancel}:  s.hitlCancel,
		{"GET ", inbox.PathHitlStats}:    s.hitlStats,
	} {
		all[route[0]+route[1]] = handler
		all[route[0]+inbox.PathAuthenticated+route[1]] = handler
	}
	return all
}

func (s *Server) hitlRequests(c *fiber.Ctx) error {
	q, err := inboxQuery(c)
	if err != nil {
		return err
	}
	return replyJSON(c)(s.Query.Requests(c.UserContext(), q, caller(c).Identity))
}

func inboxQuery(c *fiber.Ctx) (q query.InboxQuery, err error) {
	var n [4]int64
	for i, p := range []struct {
		name string
		may  bounds
	}{
		{"from", bounds{max: unbounded}}, {"to", bounds{max: unbounded}}, {"cursor", bounds{min: 1, max: unbounded}},
		{"limit", bounds{min: 1, max: inbox.MaxHitlPage, fallback: 50}},
	} {
		if n[i], err = queryInt(c, p.name, p.may); err != nil {
			return q, err
		}
	}
	q.From, q.To, q.Before, q.Limit = timeFromMillis(n[0]), timeFromMillis(n[1]), schema.EventID(n[2]), int(n[3])
	if q.Agents, err = queryAgents(c); err != nil {
		return q, err
	}
	q.Status = inbox.HitlStatus(c.Query("status"))
	if q.Status != "" && !slices.Contains(inbox.HitlStatuses, q.Status) {
		return q, &schema.FieldError{Field: "status", Detail: "must be pending, decided, expired or cancelled"}
	}
	switch c.Query("waiting_on_me") {
	case "", "false", "0":
	case "true", "1":
		q.WaitingOnMe = true
	default:
		return q, &schema.FieldError{Field: "waiting_on_me", Detail: "must be true or false"}
	}
	return q, nil
}

// queryAgents returns the values of the parameter agent, which may be repeated.
func queryAgents(c *fiber.Ctx) ([]string, error) {
	var names []string
	for _, value := range c.Context().QueryArgs().PeekMulti("agent") {
		if len(value) > 0 {
			names = append(names, strings.Clone(string(value)))
		}
	}
	if len(names) > inbox.MaxHitlAgents {
		return nil, &schema.FieldError{Field: "agent", Detail: "must not occur more than 100 times"}
	}
	return names, nil
}

func (s *Server) hitlRequest(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	return replyJSON(c)(s.Query.Request(c.UserContext(), id, caller(c).Identity))
}

func (s *Server) hitlVote(c *fiber.Ctx) error {
	var v inbox.HitlVote
	id, err := decode(c, &v)
	if err != nil {
		return err
	}
	r, err := s.Query.VoteResponse(c.UserContext(), id, &v)
	if err == nil {
		_, err = s.Hub.Respond(c.UserContext(), id, r, caller(c))
	}
	if err != nil {
		return err
	}
	return replyJSON(c)(s.Query.Request(c.UserContext(), id, caller(c).Identity))
}

func (s *Server) hitlCancel(c *fiber.Ctx) error {
	var request inbox.HitlCancel
	id, err := decode(c, &request)
	if err != nil {
		return err
	}
	if _, err := s.Hub.Cancel(c.UserContext(), id, schema.Cancel{Reason: request.Reason, Revision: request.Revision}, caller(c)); err != nil {
		return err
	}
	return replyJSON(c)(s.Query.Request(c.UserContext(), id, caller(c).Identity))
}

func (s *Server) hitlStats(c *fiber.Ctx) error {
	statsRange := query.StatsRange{}
	days, err := queryInt(c, "days", bounds{min: 1, max: history.MaxDays, fallback: 14})
	if err != nil {
		return err
	}
	from, err := queryInt(c, "from", bounds{max: unbounded})
	if err != nil {
		return err
	}
	to, err := queryInt(c, "to", bounds{max: unbounded})
	if err != nil {
		return err
	}
	if statsRange.Zone, err = parseTimeZone(c.Query("tz")); err != nil {
		return err
	}
	if statsRange.Agents, err = queryAgents(c); err != nil {
		return err
	}
	statsRange.Days, statsRange.From, statsRange.To = int(days), timeFromMillis(from), timeFromMillis(to)
	return replyJSON(c)(s.Query.HitlStats(c.UserContext(), statsRange, caller(c).Identity))
}

func (s *Server) approvals(c *fiber.Ctx) error {
	return replyJSON(c)(s.Query.Approvals(c.UserContext()))
}

func (s *Server) approval(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	return replyJSON(c)(s.Query.Approval(c.UserContext(), id))
}

func (s *Server) approveCall(c *fiber.Ctx) error {
	var call inbox.ApproveCall
	id, err := decode(c, &call)
	if err != nil {
		return err
	}
	yes := true
	return reply(c)(s.Hub.Respond(c.UserContext(), id, &schema.Response{
		Permission: &yes, ModifiedArguments: call.ModifiedArguments, Proof: call.Proof,
	}, caller(c)))
}

func (s *Server) rejectCall(c *fiber.Ctx) error {
	call := inbox.RejectCall{}
	id, err := decode(c, &call)
	if err != nil {
		return err
	}
	if call.Reason == "" {
		call.Reason = c.Query("reason")
	}
	no := false
	return reply(c)(s.Hub.Respond(c.UserContext(), id, &schema.Response{Permission: &no, Reason: call.Reason}, caller(c)))
}

func (s *Server) agentApprove(c *fiber.Ctx) error {
	var a inbox.AgentApproval
	if err := unmarshal(c.Request().Body(), &a); err != nil {
		return err
	}
	id, r, err := query.ApprovalResponse(&a)
	if err != nil {
		return err
	}
	return reply(c)(s.Hub.Respond(c.UserContext(), id, r, caller(c)))
}

// replyJSON is like reply for a result that is not encoded yet.
func replyJSON(c *fiber.Ctx) func(v any, err error) error {
	return func(v any, err error) error {
		if err != nil {
			return err
		}
		return reply(c)(json.Marshal(v))
	}
}
