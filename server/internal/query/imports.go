package query

import (
	"context"
	"encoding/json"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/server/internal/store"
)

// CheckImport refuses an event of type history.EventSessionImported as a question, and for a session that
// the hub has from its agent, whose own events are more exact. The check follows the projections, which
// may be a moment late; an import that is stored nevertheless changes nothing in the session.
func CheckImport(ctx context.Context, s store.Projections, typ, session string, asks bool) error {
	if typ != history.EventSessionImported {
		return nil
	}
	if asks {
		return &schema.FieldError{Field: "humanInTheLoop", Detail: "is not allowed in an event of type " + typ}
	}
	keys, err := s.SessionsWithID(ctx, session)
	if err != nil {
		return err
	}
	for _, key := range keys {
		facts, err := s.SessionFacts(ctx, key.App, key.Session)
		if err != nil {
			return err
		}
		var stored struct {
			Sum struct {
				Imported string `json:"imported"`
			} `json:"sum"`
		}
		if err := json.Unmarshal(facts, &stored); err == nil && stored.Sum.Imported == "" {
			return &schema.HintError{Err: schema.ErrSessionKnown, Hint: "Nothing was imported, and nothing is missing."}
		}
	}
	return nil
}
