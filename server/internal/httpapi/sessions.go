package httpapi

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"time"
	_ "time/tzdata" // a container has no time zones of its own; 450 KB of the binary

	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (s *Server) sessions(c *fiber.Ctx) error {
	f := store.SessionFilter{App: c.Query("source_app"), Text: c.Query("q")}
	if len(f.Text) > schema.MaxName {
		return &schema.FieldError{Field: "q", Detail: "is longer than 1024 bytes"}
	}
	limit, err := queryInt(c, "limit", bounds{min: 1, max: schema.MaxSessions, fallback: 50})
	if err != nil {
		return err
	}
	cursor, err := queryInt(c, "cursor", bounds{min: 1, max: unbounded})
	if err != nil {
		return err
	}
	f.Limit, f.Before = int(limit), schema.EventID(cursor)
	page, err := s.Hub.Sessions(c.UserContext(), f)
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(page))
}

func (s *Server) session(c *fiber.Ctx) error {
	detail, err := s.Hub.Session(c.UserContext(), sessionKey(c))
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(detail))
}

func sessionKey(c *fiber.Ctx) store.SessionKey {
	return store.SessionKey{App: c.Query("source_app"), Session: c.Query("session_id")}
}

func (s *Server) overview(c *fiber.Ctx) error {
	days, err := queryInt(c, "days", bounds{min: 1, max: schema.MaxDays, fallback: 14})
	if err != nil {
		return err
	}
	zone, err := parseTimeZone(c.Query("tz"))
	if err != nil {
		return err
	}
	o, err := s.Hub.Overview(c.UserContext(), int(days), zone)
	if err != nil {
		return err
	}
	return reply(c)(json.Marshal(o))
}

// parseTimeZone is an IANA time zone, UTC for no name. The hub's own is none that its
// reader knows.
func parseTimeZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, &schema.FieldError{Field: "tz", Detail: "must be an IANA time zone, such as Europe/Berlin"}
	}
	return zone, nil
}

// export sends a session as a file, page by page. Each page has the time of a whole
// response to leave.
func (s *Server) export(c *fiber.Ctx) error {
	format := c.Query("format", "ndjson")
	if format != "ndjson" && format != "markdown" {
		return &schema.FieldError{Field: "format", Detail: "must be ndjson or markdown"}
	}
	key := sessionKey(c)
	events, err := s.Hub.Export(s.stopping, key, format == "markdown")
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
		return nil // fasthttp ends a stream that it does not send, which is one byte too many
	}
	c.Context().SetBodyStream(&deadlineReader{events, c.Context().Conn(), s.WriteTimeout}, -1)
	return nil
}

// fileName makes of a name what is one on every system, and nothing else.
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

// deadlineReader gives every piece of a long response a deadline of its own.
type deadlineReader struct {
	io.Reader
	conn    net.Conn
	timeout time.Duration
}

func (p *deadlineReader) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	_ = p.conn.SetWriteDeadline(time.Now().Add(p.timeout)) // a broken one tells when it is written to
	return n, err
}
