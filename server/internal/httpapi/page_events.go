package httpapi

import (
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/query"
	"github.com/hookback/hookback/server/internal/store"
)

// eventHandlers returns the handlers of the routes that read events, and of the stream.
func (s *Server) eventHandlers() map[string]handler {
	return map[string]handler{
		"GET " + schema.PathStream: raw(s.stream()),
		"GET " + schema.PathRecent: handle(func(r *request, _ none) ([]byte, error) {
			return s.Query.Recent(r, int(r.number("limit")), query.Form(r.number("summary")))
		}),
		"GET " + schema.PathEvents: handle(s.findEvents),
		"GET " + schema.PathFilterOptions: handle(func(r *request, _ none) (schema.FilterOptions, error) {
			return s.Query.Store.FilterOptions(r)
		}),
		"GET " + schema.PathSearch:  handle(s.search),
		"GET " + schema.PathEvent:   byID(func(r *request, id schema.EventID, _ none) ([]byte, error) { return s.Query.Event(r, id) }),
		"GET " + schema.PathContext: byID(func(r *request, id schema.EventID, _ none) ([]byte, error) { return s.Query.Context(r, id) }),
		"GET " + schema.PathReceipt: byID(func(r *request, id schema.EventID, _ none) ([]byte, error) { return s.Query.Receipt(r, id) }),
	}
}

var statuses = []string{"pending", "responded", "timeout", "error", "undelivered"}

func (s *Server) findEvents(r *request, _ none) ([]byte, error) {
	f := rangeOf(r)
	f.App, f.Session, f.Type = r.Query("source_app"), r.Query("session_id"), r.Query("hook_event_type")
	f.Tool, f.Status, f.Text = r.Query("tool_name"), r.Query("status"), r.Query("q")
	if f.Status != "" && !slices.Contains(statuses, f.Status) {
		return nil, &schema.FieldError{Field: "status", Detail: "must be one of " + strings.Join(statuses, ", ")}
	}
	return s.Query.FindEvents(r, f, query.Form(r.number("summary")))
}

func (s *Server) search(r *request, _ none) (page []byte, err error) {
	f := rangeOf(r)
	q := store.Search{From: f.From, To: f.To, Before: f.Before, After: f.After, Limit: f.Limit, Oldest: f.Oldest}
	if r.Query("filter") != "" && r.Query("q") != "" {
		return nil, &schema.FieldError{Field: "q", Detail: "is another name of filter: send only one of them"}
	}
	if q.Filter, err = filter.Parse(r.Query("filter", r.Query("q"))); err != nil {
		return nil, err
	}
	return s.Sessions.Search(r, q)
}

// rangeOf reads the pagination parameters of a list: time, ids and limit.
func rangeOf(r *request) store.Filter {
	return store.Filter{
		From: timeFromMillis(r.number("from")), To: timeFromMillis(r.number("to")), Limit: int(r.number("limit")),
		Before: schema.EventID(r.number("before")), After: schema.EventID(r.number("after")),
		Oldest: r.Query("after") != "", // after=0 selects the oldest events first
	}
}

func timeFromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
