package mcp

import (
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/filter"
	"github.com/hookback/hookback/server/internal/store"
)

const (
	defaultSearchLimit = 20
	maxSearchLimit     = 100
	// maxPayloadBytes is what a model gets of one event's payload: twenty whole ones would
	// fill its context.
	maxPayloadBytes = 2 << 10
)

type searchInput struct {
	Filter string         `json:"filter"`
	Limit  int            `json:"limit"`
	Before schema.EventID `json:"before"`
}

// SearchPage is one page of a search.
type SearchPage struct {
	Events []json.RawMessage `json:"events"`
	// Before is where the next page goes on; absent: there is none.
	Before schema.EventID `json:"before,omitempty"`
}

func (s *Server) addSearchTool(server *sdk.Server) {
	add(server, sdk.Tool{
		Name: "search_events", Title: "Search what agents did",
		Description: `Search the events of all agents, the newest part of the history first; events of a page are in the order they happened. Payloads above 2 KiB are cut. When "before" is in the result, call again with it for what is older; a page may be empty and still have more behind it.
filter: words that must all occur, "a phrase", key:value with * for anything, /a regular expression/, and - before what must not be. Keys: agent, session, type, tool, model, id, error, kind, risk, status, outcome, delivery, or a path into the payload. Example: tool:Bash status:pending -agent:demo`,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: ptr(false)},
		InputSchema: objectSchema(nil, `
			"filter":{"type":"string","description":"What to look for; empty: everything."},
			"limit":{"type":"integer","minimum":1,"maximum":100,"description":"20 unless told."},
			"before":{"type":"integer","minimum":1,"description":"The \"before\" of the page before."}`),
		OutputSchema: json.RawMessage(`{"type":"object","required":["events"],"properties":{
			"events":{"type":"array","items":{"type":"object"}},"before":{"type":"integer"}}}`),
	}, s.search)
}

func (s *Server) search(ctx context.Context, c *call, in searchInput) (SearchPage, error) {
	q := store.Search{Before: in.Before, Limit: in.Limit}
	if q.Limit == 0 {
		q.Limit = defaultSearchLimit
	}
	q.Limit = min(q.Limit, maxSearchLimit)
	var err error
	if q.Filter, err = filter.Parse(in.Filter); err != nil {
		return SearchPage{}, err
	}
	raw, err := s.Hub.Search(ctx, q)
	if err != nil {
		return SearchPage{}, err
	}
	var page struct {
		Events     []map[string]json.RawMessage `json:"events"`
		SearchedTo schema.EventID               `json:"searchedTo"`
		Complete   bool                         `json:"complete"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return SearchPage{}, err
	}
	page.Events = slices.DeleteFunc(page.Events, func(e map[string]json.RawMessage) bool {
		var app string
		return json.Unmarshal(e["source_app"], &app) != nil || !c.canRead(app)
	})
	found := SearchPage{Events: make([]json.RawMessage, len(page.Events))}
	for i, e := range page.Events {
		if len(e["payload"]) > maxPayloadBytes {
			if e["payload"], err = json.Marshal(map[string]string{"cut": string(e["payload"][:maxPayloadBytes])}); err != nil {
				return SearchPage{}, err
			}
		}
		if found.Events[i], err = json.Marshal(e); err != nil {
			return SearchPage{}, err
		}
	}
	if !page.Complete {
		found.Before = page.SearchedTo
	}
	return found, nil
}
