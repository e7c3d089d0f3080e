package httpapi

import (
	"github.com/gofiber/fiber/v2"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/store"
)

func (s *Server) ledgerHandlers() map[string]fiber.Handler {
	return map[string]fiber.Handler{
		"GET " + schema.PathLedger:     s.ledger,
		"GET " + schema.PathLedgerHead: s.ledgerHead,
	}
}

func (s *Server) ledgerHead(c *fiber.Ctx) error {
	return reply(c)(s.Query.LedgerHead(c.UserContext()))
}

// ledger returns a page of the audit log, or all of it as NDJSON. The lines of the export are
// exactly the bytes that the hash chain covers.
func (s *Server) ledger(c *fiber.Ctx) error {
	var n [4]int64
	for i, q := range []struct {
		name string
		may  bounds
	}{
		{"after", bounds{max: unbounded}},
		{"before", bounds{max: unbounded}},
		{"of", bounds{max: unbounded}},
		{"limit", bounds{min: 1, max: schema.MaxPageLimit, fallback: 100}},
	} {
		var err error
		if n[i], err = queryInt(c, q.name, q.may); err != nil {
			return err
		}
	}
	page := store.LedgerPage{
		After: n[0], Before: n[1], QuestionID: schema.EventID(n[2]), Limit: int(n[3]),
		Oldest: c.Query("after") != "", // after=0 selects the oldest entries first
	}
	switch c.Query("format") {
	case "":
		return reply(c)(s.Query.Ledger(c.UserContext(), page))
	case "ndjson":
		return s.exportLedger(c, page)
	default:
		return &schema.FieldError{Field: "format", Detail: "must be ndjson, or absent"}
	}
}

func (s *Server) exportLedger(c *fiber.Ctx, page store.LedgerPage) error {
	c.Set(fiber.HeaderContentType, "application/x-ndjson")
	c.Set(fiber.HeaderContentDisposition, `attachment; filename="hookback-ledger.ndjson"`)
	if c.Method() == fiber.MethodHead {
		return nil // see export
	}
	c.Context().SetBodyStream(&deadlineReader{s.Query.ExportLedger(s.stopping, page), c.Context().Conn(), s.WriteTimeout}, -1)
	return nil
}
