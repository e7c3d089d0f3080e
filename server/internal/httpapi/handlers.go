package httpapi

import (
	"context"
	_ "embed" // licenses.txt
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/auth"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/httpapi/held"
	"github.com/hookback/hookback/server/internal/httpapi/middleware"
	"github.com/hookback/hookback/server/internal/httpapi/telemetry"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/store"
)

// maxPullWait is the longest long poll for an answer, in seconds.
const maxPullWait = 60

// handlers returns the handler of every route in routes.All by "METHOD path". Each
// feature with a separate file contributes a map here.
func (s *Server) handlers() map[string]fiber.Handler {
	all := map[string]fiber.Handler{}
	for _, part := range []map[string]fiber.Handler{
		s.eventHandlers(),
		s.mcpHandlers(),
		s.ledgerHandlers(),
		s.inboxHandlers(),
		s.ruleHandlers(), s.policyHandlers(), s.alertHandlers(), s.requestDefaultHandlers(),
		s.messageHandlers(), s.freezeHandlers(),
		s.notificationHandlers(),
		s.peopleHandlers(), s.passkeyHandlers(),
		telemetry.New(s.Hub, caller, s.Metrics.recordTelemetry).Routes(),
		s.claimHandlers(), s.shareHandlers(),
	} {
		maps.Copy(all, part)
	}
	return all
}

func (s *Server) eventHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"POST " + schema.PathEvents:       s.ingest,
		"POST " + schema.PathBatch:        s.ingestBatch,
		"GET " + schema.PathRecent:        s.recent,
		"GET " + schema.PathEvents:        s.findEvents,
		"GET " + schema.PathFilterOptions: s.filterOptions,
		"GET " + schema.PathSearch:        s.search,
		"GET " + schema.PathEvent:         s.event,
		"GET " + schema.PathContext:       s.questionContext,
		"GET " + schema.PathReceipt:       s.receipt,
		"POST " + schema.PathRespond:      s.respond,
		"POST " + schema.PathTestRequests: s.startTestRequest,
		"POST " + control.PathTestTickets: s.createTicket,
		"POST " + control.PathTestDenial:  s.denyProbe,
		"POST " + schema.PathCancel:       s.cancel,
		"POST " + schema.PathExtend:       s.extend,
		"POST " + schema.PathExecution:    s.reportExecution,
		"POST " + schema.PathUndo:         s.eventOperation(s.Hub.Undo),
		"POST " + schema.PathApprove:      s.approve,
		"POST " + schema.PathRedeliver:    s.eventOperation(s.Hub.Redeliver),
		"POST " + schema.PathHandled:      s.eventOperation(s.Hub.MarkHandled),
		"GET " + schema.PathResponse:      s.pull,
		"GET " + schema.PathStream:        s.stream(),
		"GET " + schema.PathSessions:      s.sessions,
		"GET " + schema.PathSession:       s.session,
		"GET " + schema.PathExport:        s.export,
		"GET " + history.PathSessionFiles: s.sessionFiles,
		"GET " + schema.PathOverview:      s.overview,
		"GET " + history.PathSpend:        s.spend,
		"GET " + history.PathNow:          s.now,
		"POST " + schema.PathClaudeCode:   s.claudeHook,
		"POST " + schema.PathAsk:          s.ask,
		"GET " + schema.PathHub:           s.hubKey,
		"GET " + schema.PathHealth:        s.health,
		"GET " + schema.PathReady:         s.ready,
		"GET " + schema.PathMetrics:       s.Metrics.handler(),
		"GET " + schema.PathOpenAPI:       s.openAPI,
		"GET " + schema.PathLicenses:      licenses,
	}
}

func (s *Server) ingest(c *fiber.Ctx) error {
	by := caller(c)
	wantsReceipt := strings.TrimSpace(c.Get(control.PreferHeader)) == control.MinimalReturn
	if wantsReceipt {
		accepts := control.ParseAccepts(c.Get(control.AcceptsHeader))
		by.Accepts = &accepts
	}
	ticket := c.Get(control.TestHeader)
	if by.IsProbe = ticket != ""; by.IsProbe {
		if err := s.Tickets.Redeem(c.UserContext(), ticket); err != nil {
			return err
		}
	}
	saved, err := s.Hub.Ingest(c.UserContext(), c.Request().Body(), by)
	if err != nil {
		return err
	}
	if saved.HasQuestion {
		if by.IsProbe {
			if err := s.Tickets.Record(c.UserContext(), ticket, saved.ID); err != nil {
				s.Log.Error("a test question can't be denied", "event", saved.ID, "err", err)
			}
		}
		s.afterResponse(c, saved.ID)
	}
	switch {
	case !wantsReceipt:
		return sendJSON(c, saved.JSON)
	case saved.HasQuestion: // its poster needs the whole event
		return reply(c)(addDirective(saved.JSON, saved.Directive))
	default:
		c.Set(control.AppliedHeader, control.MinimalReturn)
		return reply(c)(json.Marshal(control.EventReceipt{ID: saved.ID, Directive: saved.Directive}))
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

func (s *Server) startTestRequest(c *fiber.Ctx) error {
	if s.TestAgent == nil {
		return schema.ErrTestFailed
	}
	id, err := s.TestAgent.Start(c.UserContext())
	if errors.Is(err, schema.ErrTestPending) && id != 0 {
		return &schema.HintError{Err: err, Hint: fmt.Sprintf("Answer or cancel request %d first.", id)}
	}
	if err == nil {
		c.Status(fiber.StatusCreated)
	}
	return replyJSON(c)(schema.TestRequest{ID: id}, err)
}

func (s *Server) createTicket(c *fiber.Ctx) error {
	c.Status(fiber.StatusCreated)
	ticket, err := s.Tickets.New(c.UserContext())
	return replyJSON(c)(control.TestTicket{Ticket: ticket}, err)
}

func (s *Server) denyProbe(c *fiber.Ctx) error {
	var denial control.TestDenial
	if body := c.Request().Body(); len(body) > 0 {
		if err := unmarshal(body, &denial); err != nil {
			return err
		}
	}
	ticket := strings.Clone(c.Get(schema.SecretHeader)) // the header's bytes are used again
	id, err := s.Tickets.Question(c.UserContext(), ticket)
	if err != nil {
		return err
	}
	return reply(c)(s.Hub.DenyProbe(c.UserContext(), id, ticket, denial.Reason))
}

func (s *Server) ingestBatch(c *fiber.Ctx) error {
	result, ids, err := s.Hub.IngestBatch(c.UserContext(), c.Request().Body(), caller(c))
	if err != nil {
		return err
	}
	s.afterResponse(c, ids...)
	return sendJSON(c, result)
}

// afterResponse lets the hub dial the agents once the response to their POST has been sent.
// An agent that blocks in its POST cannot accept a call earlier.
func (s *Server) afterResponse(c *fiber.Ctx, ids ...schema.EventID) {
	cn, ok := c.Context().Conn().(*middleware.Conn)
	for _, id := range ids {
		if ok {
			cn.OnResponseSent(func() { s.Hub.ResponseSent(id) })
		} else {
			s.Hub.ResponseSent(id)
		}
	}
}

func (s *Server) recent(c *fiber.Ctx) error {
	limit, err := queryInt(c, "limit", bounds{fallback: schema.RecentLimit, min: 1, max: schema.MaxPageLimit})
	if err != nil {
		return err
	}
	summaries, err := querySummaries(c)
	if err != nil {
		return err
	}
	return reply(c)(s.Query.Recent(c.UserContext(), int(limit), summaries))
}

func (s *Server) findEvents(c *fiber.Ctx) error {
	f, err := queryFilter(c)
	if err != nil {
		return err
	}
	summary, err := queryInt(c, "summary", bounds{max: 2})
	if err != nil {
		return err
	}
	if summary == 2 {
		return reply(c)(s.Query.FindRequests(c.UserContext(), f))
	}
	return reply(c)(s.Query.FindEvents(c.UserContext(), f, summary == 1))
}

func (s *Server) search(c *fiber.Ctx) error {
	f, err := queryRange(c)
	if err != nil {
		return err
	}
	q := store.Search{From: f.From, To: f.To, Before: f.Before, After: f.After, Limit: f.Limit, Oldest: f.Oldest}
	if c.Query("filter") != "" && c.Query("q") != "" {
		return &schema.FieldError{Field: "q", Detail: "is another name of filter: send only one of them"}
	}
	if q.Filter, err = filter.Parse(c.Query("filter", c.Query("q"))); err != nil {
		return err
	}
	return reply(c)(s.Sessions.Search(c.UserContext(), q))
}

func (s *Server) filterOptions(c *fiber.Ctx) error {
	options, err := s.Query.FilterOptions(c.UserContext())
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(options))
}

func (s *Server) event(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	return reply(c)(s.Query.Event(c.UserContext(), id))
}

func (s *Server) questionContext(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	return reply(c)(s.Query.Context(c.UserContext(), id))
}

func (s *Server) receipt(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	return reply(c)(s.Query.Receipt(c.UserContext(), id))
}

func (s *Server) respond(c *fiber.Ctx) error {
	var r schema.Response
	id, err := decode(c, &r)
	if err != nil {
		return err
	}
	return reply(c)(s.Hub.Respond(c.UserContext(), id, &r, caller(c)))
}

// eventOperation returns the handler of an operation that needs only the event's id and its
// caller.
func (s *Server) eventOperation(operation func(context.Context, schema.EventID, hub.Caller) ([]byte, error)) fiber.Handler {
	return func(c *fiber.Ctx) error {
		id, err := eventID(c)
		if err != nil {
			return err
		}
		return reply(c)(operation(c.UserContext(), id, caller(c)))
	}
}

func (s *Server) approve(c *fiber.Ctx) error {
	var list schema.Approvals
	if err := unmarshal(c.Request().Body(), &list); err != nil {
		return err
	}
	return reply(c)(s.Hub.ApproveAll(c.UserContext(), &list, caller(c)))
}

func (s *Server) cancel(c *fiber.Ctx) error {
	var request schema.Cancel
	id, err := decode(c, &request)
	if err != nil {
		return err
	}
	return reply(c)(s.Hub.Cancel(c.UserContext(), id, request, caller(c)))
}

func (s *Server) extend(c *fiber.Ctx) error {
	var extension schema.Extend
	id, err := eventID(c)
	if err == nil {
		err = unmarshal(c.Request().Body(), &extension) // decode would accept an empty body, which removes the deadline
	}
	if err != nil {
		return err
	}
	return reply(c)(s.Hub.Extend(c.UserContext(), id, &extension, caller(c)))
}

func (s *Server) reportExecution(c *fiber.Ctx) error {
	var report schema.CallReport
	id, err := decode(c, &report)
	if err != nil {
		return err
	}
	return reply(c)(s.Hub.ReportExecution(c.UserContext(), id, &report))
}

func (s *Server) pull(c *fiber.Ctx) error {
	id, err := eventID(c)
	if err != nil {
		return err
	}
	wait, err := queryInt(c, "wait", bounds{max: maxPullWait})
	if err != nil {
		return err
	}
	if rejected := c.Query("rejected"); rejected != "" {
		if rejected != schema.AckMismatch && rejected != schema.AckUntrusted {
			return &schema.FieldError{Field: "rejected", Detail: "must be mismatch or untrusted"}
		}
		if err := s.Hub.RejectAnswer(c.UserContext(), id, c.Get(schema.SecretHeader), strings.Clone(rejected)); err != nil {
			return err
		}
		return c.SendStatus(fiber.StatusNoContent)
	}
	var expires time.Time
	ctx, cancel := s.longPollContext(c, wait)
	defer cancel()
	answer, err := s.Hub.Pull(ctx, id, hub.PullOptions{
		Wait: time.Duration(wait) * time.Second, Secret: c.Get(schema.SecretHeader),
		OnDeadline: func(at time.Time) { expires = at },
	})
	if err == nil && answer == nil {
		remaining := schema.Never
		if !expires.IsZero() {
			remaining = strconv.FormatFloat(max(expires.Sub(s.Hub.Clock()), 0).Seconds(), 'f', 3, 64)
		}
		c.Set(schema.ExpiresHeader, remaining)
		return c.SendStatus(fiber.StatusNoContent)
	}
	return reply(c)(answer, err)
}

// longPollContext returns the context of a long poll. It ends if the agent disconnects, so that a
// dead agent does not count as having its answer, and if the caller's credentials are revoked.
func (s *Server) longPollContext(c *fiber.Ctx, seconds int64) (context.Context, func()) {
	ctx, stopWatching := s.stopping, func() {}
	if cn, ok := c.Context().Conn().(*middleware.Conn); ok && seconds > 0 {
		ctx, stopWatching = cn.WatchDisconnect(ctx, cn.ProbeHalfClosed(c.Request()))
	}
	ctx, cancel := context.WithCancel(ctx)
	stopObserving := s.Hub.People.OnRevoked(caller(c).Identity, cancel)
	return ctx, func() {
		stopObserving()
		cancel()
		stopWatching()
	}
}

// claudeHook handles the HTTP hooks of Claude Code.
func (s *Server) claudeHook(c *fiber.Ctx) error {
	limit, err := queryInt(c, "limit", bounds{min: 1, max: int64(schema.MaxTimeout / time.Second), fallback: held.DefaultHookTimeout})
	if err != nil {
		return err
	}
	return s.held.ClaudeCode(s.heldRequest(c), limit)
}

func (s *Server) ask(c *fiber.Ctx) error { return s.held.Ask(s.heldRequest(c)) }

func (s *Server) heldRequest(c *fiber.Ctx) held.Request {
	return held.Request{Ctx: c, By: caller(c), Program: func() string { return s.programOf(c) }}
}

// hubKey serves the hub's identity. The nonce is chosen by the caller, who may be anyone.
func (s *Server) hubKey(c *fiber.Ctx) error {
	nonce := c.Query("nonce")
	if nonce != "" {
		if err := sign.CheckNonce(nonce); err != nil {
			return err
		}
	}
	return reply(c)(s.Query.HubKey(c.UserContext(), nonce))
}

func (s *Server) health(c *fiber.Ctx) error {
	return s.sendHealth(c, schema.Health{Status: "ok"})
}

func (s *Server) sendHealth(c *fiber.Ctx, h schema.Health) error {
	if h.Version = s.Version; middleware.HasForeignHost(c) {
		h = schema.Health{Status: h.Status}
	}
	return reply(c)(json.Marshal(h))
}

// ready reports whether events can be stored: 200 or 503. Load balancers and startup
// scripts check the status code only.
func (s *Server) ready(c *fiber.Ctx) error {
	h := schema.Health{Status: "ok"}
	stats, err := s.Store.Stats(c.UserContext())
	switch {
	case s.stopping.Err() != nil:
		h.Status = "stopping"
	case s.draining.Load():
		h.Status = "draining"
	case stats.Fault != "":
		h.Status, h.Detail = "degraded", stats.Fault
	case err != nil:
		h.Status, h.Detail = "degraded", "the database does not respond"
	case stats.DiskLow:
		h.Status, h.Detail = "degraded", fmt.Sprintf("the disk is nearly full: questions and answers are stored as long as the last %d MiB suffice, other events are not", stats.LeftBytes>>20)
	}
	if h.Status != "ok" {
		c.Status(fiber.StatusServiceUnavailable)
	} else {
		h.Detail = strings.Trim(lagWarning(&stats)+"; "+s.Traces.Warning(), "; ")
	}
	return s.sendHealth(c, h)
}

// lagWarning returns which results are out of date or slow; empty: none.
func lagWarning(stats *store.Stats) string {
	const tolerable = 10 * time.Second
	var late []string
	if lag := stats.Projections.Time; lag > tolerable {
		late = append(late, fmt.Sprintf("sessions and statistics are %.0f seconds behind", lag.Seconds()))
	}
	if lag := stats.SearchIndex.Time; lag > tolerable {
		late = append(late, fmt.Sprintf("the search index is %.0f seconds behind", lag.Seconds()))
	}
	return strings.Join(late, "; ")
}

func (s *Server) openAPI(c *fiber.Ctx) error {
	if s.OpenAPI == nil {
		return schema.ErrNoRoute
	}
	return sendJSON(c, s.OpenAPI)
}

// licenseNotices is written by go run ./scripts/licenses.
//
//go:embed licenses.txt
var licenseNotices string

func licenses(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, "text/plain; charset=utf-8")
	return c.SendString(licenseNotices)
}

// reply returns a function that sends an operation's JSON result or returns its error.
func reply(c *fiber.Ctx) func(b []byte, err error) error {
	return func(b []byte, err error) error {
		if err != nil {
			return err
		}
		return sendJSON(c, b)
	}
}

func sendJSON(c *fiber.Ctx, b []byte) error {
	c.Response().Header.SetContentType(fiber.MIMEApplicationJSON)
	c.Response().SetBodyRaw(b)
	return nil
}

func identityOf(c *fiber.Ctx) auth.Identity { return caller(c).Identity }

func caller(c *fiber.Ctx) hub.Caller {
	by := hub.Caller{Remote: middleware.AddrPortOf(c.Context().RemoteAddr()), Local: middleware.AddrPortOf(c.Context().LocalAddr())}
	if cn, ok := c.Context().Conn().(*middleware.Conn); ok {
		by.Process, by.Connection = cn.Process, &cn.Opener
	}
	by.Identity, _ = c.Locals(identityLocal).(auth.Identity)
	return by
}

// decode returns the event's id from the path and decodes the body into v. An empty body
// leaves v unchanged.
func decode(c *fiber.Ctx, v any) (schema.EventID, error) {
	id, err := eventID(c)
	if err != nil {
		return 0, err
	}
	body := c.Request().Body()
	if len(body) == 0 {
		return id, nil
	}
	return id, unmarshal(body, v)
}

func eventID(c *fiber.Ctx) (schema.EventID, error) {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, schema.ErrNotFound
	}
	return schema.EventID(id), nil
}

// bounds are the limits of an integer query parameter, and its value if it is absent.
type bounds struct{ min, max, fallback int64 }

func queryInt(c *fiber.Ctx, name string, allowed bounds) (int64, error) {
	text := c.Query(name)
	if text == "" {
		return allowed.fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < allowed.min || n > allowed.max {
		detail := "must be a whole number from " + strconv.FormatInt(allowed.min, 10)
		if allowed.max < unbounded {
			detail += " to " + strconv.FormatInt(allowed.max, 10)
		}
		return 0, &schema.FieldError{Field: name, Detail: detail}
	}
	return n, nil
}

// querySummaries reports whether a list shall shorten large questions.
func querySummaries(c *fiber.Ctx) (bool, error) {
	n, err := queryInt(c, "summary", bounds{max: 1})
	return n == 1, err
}

// unbounded exceeds every id and every Unix time in milliseconds.
const unbounded = 1 << 53

var statuses = []string{"pending", "responded", "timeout", "error", "undelivered"}

// queryFilter reads the exact-match filters of an event list.
func queryFilter(c *fiber.Ctx) (store.Filter, error) {
	f, err := queryRange(c)
	if err != nil {
		return f, err
	}
	f.App, f.Session, f.Type = c.Query("source_app"), c.Query("session_id"), c.Query("hook_event_type")
	f.Tool, f.Status, f.Text = c.Query("tool_name"), c.Query("status"), c.Query("q")
	if f.Status != "" && !slices.Contains(statuses, f.Status) {
		return f, &schema.FieldError{Field: "status", Detail: "must be one of " + strings.Join(statuses, ", ")}
	}
	return f, nil
}

// queryRange reads the pagination parameters of a list: time, ids and limit.
func queryRange(c *fiber.Ctx) (f store.Filter, err error) {
	anyValue := bounds{max: unbounded}
	var n [5]int64
	for i, q := range []struct {
		name string
		may  bounds
	}{{"from", anyValue}, {"to", anyValue}, {"before", anyValue}, {"after", anyValue}, {"limit", bounds{min: 1, max: schema.MaxPageLimit, fallback: 100}}} {
		if n[i], err = queryInt(c, q.name, q.may); err != nil {
			return f, err
		}
	}
	f.From, f.To = timeFromMillis(n[0]), timeFromMillis(n[1])
	f.Before, f.After, f.Limit = schema.EventID(n[2]), schema.EventID(n[3]), int(n[4])
	f.Oldest = c.Query("after") != "" // after=0 selects the oldest events first
	return f, nil
}

func timeFromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
