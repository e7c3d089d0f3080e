package httpapi

import (
	"encoding/json"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // containers have no time zone database; adds 450 KB to the binary

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/hub"
	"github.com/hookback/hookback/server/internal/sessions"
	"github.com/hookback/hookback/server/internal/store"
)

func (s *Server) sessions(c *fiber.Ctx) error {
	f := store.SessionFilter{App: c.Query("source_app"), Person: c.Query("person"), Text: c.Query("q")}
	if len(f.Text) > schema.MaxName {
		return &schema.FieldError{Field: "q", Detail: "is longer than 1024 bytes"}
	}
	limit, err := queryInt(c, "limit", bounds{min: 1, max: history.MaxSessions, fallback: 50})
	if err != nil {
		return err
	}
	cursor, err := queryInt(c, "cursor", bounds{min: 1, max: unbounded})
	if err != nil {
		return err
	}
	f.Limit, f.Before = int(limit), cursor
	page, err := s.Sessions.Sessions(c.UserContext(), f)
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(page))
}

func (s *Server) session(c *fiber.Ctx) error {
	detail, err := s.Sessions.Session(c.UserContext(), sessionKey(c))
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(detail))
}

func sessionKey(c *fiber.Ctx) store.SessionKey {
	return store.SessionKey{App: c.Query("source_app"), Session: c.Query("session_id")}
}

func (s *Server) overview(c *fiber.Ctx) error {
	days, err := queryInt(c, "days", bounds{min: 1, max: history.MaxDays, fallback: 14})
	if err != nil {
		return err
	}
	zone, err := parseTimeZone(c.Query("tz"))
	if err != nil {
		return err
	}
	o, err := s.Sessions.Overview(c.UserContext(), int(days), zone)
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(o))
}

func (s *Server) now(c *fiber.Ctx) error {
	zone, err := parseTimeZone(c.Query("tz"))
	if err != nil {
		return err
	}
	return replyJSON(c)(s.Now.Report(c.UserContext(), caller(c).Identity, zone))
}

func (s *Server) spend(c *fiber.Ctx) error {
	groups, err := sessions.ParseSpendGroups(c.Query("by", "day"))
	if err != nil {
		return err
	}
	days, err := queryInt(c, "days", bounds{min: 1, max: history.MaxDays, fallback: 14})
	if err != nil {
		return err
	}
	zone, err := parseTimeZone(c.Query("tz"))
	if err != nil {
		return err
	}
	format := c.Query("format", "json")
	if format != "json" && format != "csv" {
		return &schema.FieldError{Field: "format", Detail: "must be json or csv"}
	}
	report, err := s.Sessions.SpendReport(c.UserContext(), groups, int(days), zone)
	if err != nil {
		return err
	}
	if format == "json" {
		return reply(c)(json.Marshal(report))
	}
	c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="hookback-cost.csv"`)
	return c.Send(sessions.SpendCSV(groups, report.Rows))
}

func (s *Server) sessionFiles(c *fiber.Ctx) error {
	return replyJSON(c)(s.Sessions.Files(c.UserContext(), sessionKey(c)))
}

// parseTimeZone returns the IANA time zone of that name, UTC for "". It rejects "Local",
// because the hub's own zone means nothing to the client.
func parseTimeZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, &schema.FieldError{Field: "tz", Detail: "must be an IANA time zone, such as Europe/Berlin"}
	}
	return zone, nil
}

// export streams a session as a file, page by page. Each page gets a full WriteTimeout.
func (s *Server) export(c *fiber.Ctx) error {
	format := c.Query("format", "ndjson")
	if format != "ndjson" && format != "markdown" {
		return &schema.FieldError{Field: "format", Detail: "must be ndjson or markdown"}
	}
	key := sessionKey(c)
	events, err := s.Sessions.Export(s.stopping, key, format == "markdown")
	if err != nil {
		return err
	}
	media, suffix := "application/x-ndjson", ".ndjson"
	if format == "markdown" {
		media, suffix = "text/markdown; charset=utf-8", ".md"
	}
	c.Set(fiber.HeaderContentType, media)
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="hookback-`+fileName(key.App)+"-"+fileName(key.Session)+suffix+`"`)
	if c.Method() == fiber.MethodHead {
		return nil // fasthttp terminates even an unsent chunked body, which adds a byte
	}
	c.Context().SetBodyStream(&deadlineReader{events, c.Context().Conn(), s.WriteTimeout}, -1)
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

func (s *Server) messageHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + control.PathMessages:   s.sessionMessages,
		"POST " + control.PathMessages:  s.sendMessage,
		"GET " + control.PathWait:       s.waitForMessage,
		"DELETE " + control.PathMessage: s.withdrawMessage,
	}
}

func (s *Server) sessionMessages(c *fiber.Ctx) error {
	return reply(c)(s.Hub.SessionMessages(c.UserContext(), sessionKey(c)))
}

func (s *Server) sendMessage(c *fiber.Ctx) error {
	var d control.MessageDraft
	if err := unmarshal(c.Request().Body(), &d); err != nil {
		return err
	}
	message, err := s.Hub.SendMessage(c.UserContext(), d, c.Get(control.IdempotencyHeader), caller(c))
	if err != nil {
		return err
	}
	return sendJSON(c.Status(fiber.StatusCreated), message)
}

func (s *Server) withdrawMessage(c *fiber.Ctx) error {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return schema.ErrNotFound
	}
	return reply(c)(s.Hub.WithdrawMessage(c.UserContext(), id, caller(c)))
}

func (s *Server) waitForMessage(c *fiber.Ctx) error {
	wait, err := queryInt(c, "wait", bounds{max: maxPullWait})
	if err != nil {
		return err
	}
	after, err := queryInt(c, "after", bounds{max: unbounded})
	if err != nil {
		return err
	}
	ctx, cancel := s.longPollContext(c, wait)
	defer cancel()
	status, err := s.Hub.WaitForMessage(ctx, sessionKey(c), hub.WaitOptions{
		Name: c.Query("waiter"), After: schema.EventID(after), Wait: time.Duration(wait) * time.Second,
	}, caller(c))
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(status))
}
