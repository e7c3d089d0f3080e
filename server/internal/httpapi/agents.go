package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/sessions/otlp"
)

// agentHandlers returns the handlers of the routes that agents and their hooks call.
func (s *Server) agentHandlers() map[string]handler {
	return map[string]handler{
		"POST " + schema.PathEvents:     raw(s.ingest),
		"POST " + schema.PathBatch:      raw(s.ingestBatch),
		"POST " + schema.PathClaudeCode: raw(s.claudeHook),
		"POST " + schema.PathAsk:        raw(s.ask),
		"POST " + schema.PathMCP:        raw(s.serveMCP),

		"POST " + schema.PathOTLPLogs:    raw(s.telemetry("logs", otlp.Logs, otlp.LogsProtobuf)),
		"POST " + schema.PathOTLPMetrics: raw(s.telemetry("metrics", otlp.Metrics, otlp.MetricsProtobuf)),
		"POST " + schema.PathOTLPTraces:  raw(s.telemetry("traces", otlp.Spans, otlp.SpansProtobuf)),

		"GET " + schema.PathResponse: raw(s.pull),
		"POST " + schema.PathExecution: byID(func(r *request, id schema.EventID, report schema.CallReport) ([]byte, error) {
			return s.Hub.ReportExecution(r, id, &report)
		}),
		"GET " + control.PathWait: handle(s.waitForMessage),
		"POST " + control.PathCoverage: handle(func(r *request, report control.MachineReport) (control.CoverageList, error) {
			return s.Coverage.Report(r, r.by.Identity.Requester(), report)
		}),
		"POST " + control.PathTestTickets: handle(func(r *request, _ none) (control.TestTicket, error) {
			ticket, err := s.Tickets.New(r)
			return control.TestTicket{Ticket: ticket}, err
		}),
		"POST " + control.PathTestDenial: optional(s.denyProbe),
	}
}

func (s *Server) ingest(r *request) error {
	wantsReceipt := strings.TrimSpace(r.Get(control.PreferHeader)) == control.MinimalReturn
	if wantsReceipt {
		accepts := control.ParseAccepts(r.Get(control.AcceptsHeader))
		r.by.Accepts = &accepts
	}
	ticket := r.Get(control.TestHeader)
	if r.by.IsProbe = ticket != ""; r.by.IsProbe {
		if err := s.Tickets.Redeem(r, ticket); err != nil {
			return err
		}
	}
	saved, err := s.Hub.Ingest(r, r.Request().Body(), r.by)
	if err != nil {
		return err
	}
	if saved.HasQuestion {
		if r.by.IsProbe {
			if err := s.Tickets.Record(r, ticket, saved.ID); err != nil {
				s.Log.Error("a test question can't be denied", "event", saved.ID, "err", err)
			}
		}
		s.afterResponse(r, saved.ID)
	}
	switch {
	case !wantsReceipt:
		return r.sendJSON(saved.JSON)
	case saved.HasQuestion: // its poster needs the whole event
		return r.reply(addDirective(saved.JSON, saved.Directive))
	default:
		r.Set(control.AppliedHeader, control.MinimalReturn)
		return r.reply(control.EventReceipt{ID: saved.ID, Directive: saved.Directive}, nil)
	}
}

// addDirective adds the directive to an event, as its last member.
func addDirective(event []byte, d *control.Directive) ([]byte, error) {
	if d == nil {
		return event, nil
	}
	text, err := json.Marshal(d)
	return slices.Concat(event[:len(event)-1], []byte(`,"directive":`), text, []byte("}")), err
}

func (s *Server) ingestBatch(r *request) error {
	result, ids, err := s.Hub.IngestBatch(r, r.Request().Body(), r.by)
	if err == nil {
		s.afterResponse(r, ids...)
	}
	return r.reply(result, err)
}

// afterResponse lets the hub dial the agents once the response to their POST has been sent.
// An agent that blocks in its POST cannot accept a call earlier.
func (s *Server) afterResponse(r *request, ids ...schema.EventID) {
	cn, ok := r.Ctx.Context().Conn().(*middleware.Conn)
	for _, id := range ids {
		if ok {
			cn.OnResponseSent(func() { s.Hub.ResponseSent(id) })
		} else {
			s.Hub.ResponseSent(id)
		}
	}
}

func (s *Server) serveMCP(r *request) error {
	if s.MCP == nil {
		return schema.ErrNoRoute
	}
	return s.netHTTP.Serve(r.Ctx, func(waitCtx context.Context) http.Handler { return s.MCP.HandlerFor(waitCtx, r.by) })
}

func (s *Server) pull(r *request) error {
	id, err := eventID(r.Ctx)
	if err != nil {
		return err
	}
	if rejected := r.Query("rejected"); rejected != "" {
		if rejected != schema.AckMismatch && rejected != schema.AckUntrusted {
			return &schema.FieldError{Field: "rejected", Detail: "must be mismatch or untrusted"}
		}
		if err := s.Hub.RejectAnswer(r, id, r.Get(schema.SecretHeader), strings.Clone(rejected)); err != nil {
			return err
		}
		return r.SendStatus(fiber.StatusNoContent)
	}
	var expires time.Time
	wait, ctx, cancel := s.longPoll(r)
	defer cancel()
	answer, err := s.Hub.Pull(ctx, id, hub.PullOptions{
		Wait: wait, Secret: r.Get(schema.SecretHeader), OnDeadline: func(at time.Time) { expires = at },
	})
	if err == nil && answer == nil {
		remaining := schema.Never
		if !expires.IsZero() {
			remaining = strconv.FormatFloat(max(expires.Sub(s.Hub.Clock()), 0).Seconds(), 'f', 3, 64)
		}
		r.Set(schema.ExpiresHeader, remaining)
		return r.SendStatus(fiber.StatusNoContent)
	}
	return r.reply(answer, err)
}

// longPoll returns how long a request waits, and the context of its wait. It ends if the agent disconnects, so
// that a dead agent does not count as having its answer, and, with the cause schema.ErrSignIn, if the caller's
// credentials are revoked.
func (s *Server) longPoll(r *request) (wait time.Duration, ctx context.Context, end func()) {
	wait = time.Duration(r.number("wait")) * time.Second
	ctx, stopWatching := s.stopping, func() {}
	if cn, ok := r.Ctx.Context().Conn().(*middleware.Conn); ok && (wait > 0 || isPoll(r.Ctx)) {
		ctx, stopWatching = cn.WatchDisconnect(ctx, cn.ProbeHalfClosed(r.Request()))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stopObserving := s.Hub.People.OnRevoked(r.by.Identity, func() { cancel(schema.ErrSignIn) })
	return wait, ctx, func() {
		stopObserving()
		cancel(nil)
		stopWatching()
	}
}

func (s *Server) waitForMessage(r *request, _ none) (control.WaitStatus, error) {
	wait, ctx, cancel := s.longPoll(r)
	defer cancel()
	return s.Hub.WaitForMessage(ctx, sessionKey(r), hub.WaitOptions{
		Name: r.Query("waiter"), After: schema.EventID(r.number("after")), Wait: wait,
	}, r.by)
}

func (s *Server) denyProbe(r *request, denial control.TestDenial) ([]byte, error) {
	ticket := strings.Clone(r.Get(schema.SecretHeader)) // the header's bytes are used again
	id, err := s.Tickets.Question(r, ticket)
	if err != nil {
		return nil, err
	}
	return s.Hub.DenyProbe(r, id, ticket, denial.Reason)
}

func (s *Server) startTestRequest(r *request, _ none) (schema.TestRequest, error) {
	if s.TestAgent == nil {
		return schema.TestRequest{}, schema.ErrTestFailed
	}
	id, err := s.TestAgent.Start(r)
	if errors.Is(err, schema.ErrTestPending) && id != 0 {
		err = &schema.HintError{Err: err, Hint: fmt.Sprintf("Answer or cancel request %d first.", id)}
	}
	return schema.TestRequest{ID: id}, err
}
