package httpapi

import (
	"io"
	"net"
	"strings"
	"time"
	_ "time/tzdata" // containers have no time zone database; adds 450 KB to the binary

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/sessions"
	"github.com/hookback/hookback/server/internal/store"
)

// historyHandlers returns the handlers of the routes of sessions, statistics, policies and the audit log.
func (s *Server) historyHandlers() map[string]handler {
	return map[string]handler{
		"GET " + schema.PathSessions: handle(s.sessions),
		"GET " + schema.PathSession: handle(func(r *request, _ none) (history.SessionDetail, error) {
			return s.Sessions.Session(r, sessionKey(r))
		}),
		"GET " + history.PathSessionFiles: handle(func(r *request, _ none) (history.SessionFiles, error) {
			return s.Sessions.Files(r, sessionKey(r))
		}),
		"GET " + schema.PathExport:   raw(s.export),
		"GET " + schema.PathOverview: handle(s.overview),
		"GET " + history.PathSpend:   raw(s.spend),
		"GET " + history.PathNow:     handle(s.now),
		"GET " + history.PathReport:  handle(s.report),

		"GET " + control.PathMessages: handle(func(r *request, _ none) ([]byte, error) { return s.Hub.SessionMessages(r, sessionKey(r)) }),
		"POST " + control.PathMessages: handle(func(r *request, d control.MessageDraft) ([]byte, error) {
			return s.Hub.SendMessage(r, d, r.Get(control.IdempotencyHeader), r.by)
		}),
		"DELETE " + control.PathMessage: byID(func(r *request, id schema.EventID, _ none) ([]byte, error) {
			return s.Hub.WithdrawMessage(r, int64(id), r.by)
		}),

		"GET " + history.PathPolicies:  get(s.Studio.Policies),
		"POST " + history.PathReplay:   handle(s.replayPolicy),
		"GET " + schema.PathPolicyLine: handle(s.policyLine),
		"GET " + schema.PathRiskyCalls: handle(s.riskyCalls),

		"GET " + schema.PathLedger:     raw(s.ledger),
		"GET " + schema.PathLedgerHead: handle(func(r *request, _ none) ([]byte, error) { return s.Query.Store.LedgerHead(r) }),
	}
}

func (s *Server) sessions(r *request, _ none) (page history.SessionPage, err error) {
	f := store.SessionFilter{
		App: r.Query("source_app"), Person: r.Query("person"), Text: r.Query("q"), Limit: int(r.number("limit")), Before: r.number("cursor"),
	}
	if len(f.Text) > schema.MaxName {
		return page, &schema.FieldError{Field: "q", Detail: "is longer than 1024 bytes"}
	}
	return s.Sessions.Sessions(r, f)
}

func sessionKey(r *request) store.SessionKey {
	return store.SessionKey{App: r.Query("source_app"), Session: r.Query("session_id")}
}

func (s *Server) overview(r *request, _ none) (o history.Overview, err error) {
	zone, err := timeZone(r)
	if err != nil {
		return o, err
	}
	return s.Sessions.Overview(r, int(r.number("days")), zone)
}

func (s *Server) now(r *request, _ none) (report history.NowReport, err error) {
	zone, err := timeZone(r)
	if err != nil {
		return report, err
	}
	return s.Now.Report(r, r.by.Identity, zone)
}

func (s *Server) report(r *request, _ none) (report history.Report, err error) {
	check := r.Query("check")
	if check != "" && check != "1" {
		return report, &schema.FieldError{Field: "check", Detail: "must be 1, or absent"}
	}
	return s.Sessions.Report(r, r.Query("since"), check != "")
}

func (s *Server) spend(r *request) error {
	groups, err := sessions.ParseSpendGroups(r.Query("by", "day"))
	if err != nil {
		return err
	}
	zone, err := timeZone(r)
	if err != nil {
		return err
	}
	format := r.Query("format", "json")
	if format != "json" && format != "csv" {
		return &schema.FieldError{Field: "format", Detail: "must be json or csv"}
	}
	report, err := s.Sessions.SpendReport(r, groups, query.StatsRange{Days: int(r.number("days")), From: timeFromMillis(r.number("from")), Zone: zone})
	if err != nil || format == "json" {
		return r.reply(report, err)
	}
	r.attach("text/csv; charset=utf-8", "hookback-cost.csv")
	return r.Send(sessions.SpendCSV(groups, report.Rows))
}

// timeZone returns the zone of the parameter tz, an IANA name, or UTC. It rejects "Local",
// because the hub's own zone means nothing to the client.
func timeZone(r *request) (*time.Location, error) {
	name := r.Query("tz")
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, &schema.FieldError{Field: "tz", Detail: "must be an IANA time zone, such as Europe/Berlin"}
	}
	return zone, nil
}

// replayPolicy compares the policy or the rule of a draft with the history.
func (s *Server) replayPolicy(r *request, d history.ReplayDraft) (*history.Replay, error) {
	switch {
	case (d.Rule == nil) == (d.Policy == "" && d.Add == ""):
		return nil, &schema.FieldError{Field: "policy", Detail: "or rule must be set, and not both"}
	case d.Rule == nil:
		return s.Studio.Replay(r, &d)
	}
	release, err := s.Studio.Acquire(r)
	if err != nil {
		return nil, err
	}
	defer release()
	return s.Hub.ReplayRule(r, d.Rule)
}

func (s *Server) riskyCalls(r *request, _ none) (list history.RiskyCalls, err error) {
	key := sessionKey(r)
	if key.App == "" && key.Session != "" {
		return list, &schema.FieldError{Field: "session_id", Detail: "needs source_app"}
	}
	calls, err := s.Ratings.Store.RiskyCalls(r, store.RiskyCallFilter{
		App: key.App, Session: key.Session, Limit: int(r.number("limit")),
		Before: schema.EventID(r.number("before")), After: schema.EventID(r.number("after")),
	})
	return history.RiskyCalls{Calls: append([]history.RiskyCall{}, calls...)}, err
}

func (s *Server) policyLine(r *request, _ none) (*history.PolicyLine, error) {
	id := r.number("event")
	if id == 0 {
		return nil, &schema.FieldError{Field: "event", Detail: "is missing"}
	}
	return s.Ratings.PolicyLine(r, schema.EventID(id), s.Query.Clock())
}

// ledger returns a page of the audit log, or all of it as NDJSON. The lines of the export are
// exactly the bytes that the hash chain covers.
func (s *Server) ledger(r *request) error {
	page := store.LedgerPage{
		After: r.number("after"), Before: r.number("before"), QuestionID: schema.EventID(r.number("of")), Limit: int(r.number("limit")),
		Oldest: r.Query("after") != "", // after=0 selects the oldest entries first
	}
	switch r.Query("format") {
	case "":
		return r.reply(s.Query.Ledger(r, page))
	case "ndjson":
		r.attach("application/x-ndjson", "hookback-ledger.ndjson")
		return r.stream(s.Query.ExportLedger(s.stopping, page), s.WriteTimeout)
	default:
		return &schema.FieldError{Field: "format", Detail: "must be ndjson, or absent"}
	}
}

// export streams a session as a file, page by page. Each page gets a full WriteTimeout.
func (s *Server) export(r *request) error {
	format := r.Query("format", "ndjson")
	if format != "ndjson" && format != "markdown" {
		return &schema.FieldError{Field: "format", Detail: "must be ndjson or markdown"}
	}
	key := sessionKey(r)
	events, err := s.Sessions.Export(s.stopping, key, format == "markdown")
	if err != nil {
		return err
	}
	media, suffix := "application/x-ndjson", ".ndjson"
	if format == "markdown" {
		media, suffix = "text/markdown; charset=utf-8", ".md"
	}
	r.attach(media, "hookback-"+fileName(key.App)+"-"+fileName(key.Session)+suffix)
	return r.stream(events, s.WriteTimeout)
}

// attach sets the headers of a response that is a file.
func (r *request) attach(media, name string) {
	r.Set(fiber.HeaderContentType, media)
	r.Set(fiber.HeaderContentDisposition, `attachment; filename="`+name+`"`)
}

// stream sends a long body. Each chunk has timeout to be written.
func (r *request) stream(body io.Reader, timeout time.Duration) error {
	if r.Method() != fiber.MethodHead { // fasthttp terminates even an unsent chunked body, which adds a byte
		r.Ctx.Context().SetBodyStream(&deadlineReader{body, r.Ctx.Context().Conn(), timeout}, -1)
	}
	return nil
}

// fileName turns a name into a valid file name on every system: ASCII letters, digits, '-'
// and '_', at most 60 bytes.
func fileName(name string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		default:
			return '-'
		}
	}, name)
	return plain[:min(len(plain), 60)]
}

// deadlineReader renews the connection's write deadline with every chunk of a long
// response.
type deadlineReader struct {
	io.Reader
	conn    net.Conn
	timeout time.Duration
}

func (p *deadlineReader) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	_ = p.conn.SetWriteDeadline(time.Now().Add(p.timeout)) // a broken connection fails at the next write
	return n, err
}
