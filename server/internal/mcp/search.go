package mcp

import (
	"cmp"
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
	// maxPayloadBytes limits the payload of one event. Twenty complete payloads would fill
	// a model's context.
	maxPayloadBytes = 2 << 10
)

type searchInput struct {
	Filter string         `json:"filter"`
	Limit  int            `json:"limit"`
	Before schema.EventID `json:"before"`
}

// SearchPage is one page of search results.
type SearchPage struct {
	Events []json.RawMessage `json:"events"`
	// Before is the cursor of the next page. Absent: this is the last page.
	Before schema.EventID `json:"before,omitempty"`
}

func (s *Server) addSearchTool(server *sdk.Server) {
	add(server, sdk.Tool{
		Name: "search_events", Title: "Search what agents did",
		Description: `Search the events of all agents. The first page covers the newest part of the history; events within a page are in chronological order. Payloads above 2 KiB are truncated. If the result contains "before", call again with it for older events; a page may be empty although older events match.
filter: words that must all occur, "a phrase", key:value with * as a wildcard, /a regular expression/, and - before a term to exclude it. Keys: agent, session, type, tool, model, id, error, kind, risk, status, outcome, delivery, or a path into the payload. Example: tool:Bash status:pending -agent:demo`,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: ptr(false)},
		InputSchema: objectSchema(nil, `
			"filter":{"type":"string","description":"What to search for. Empty: everything."},
			"limit":{"type":"integer","minimum":1,"maximum":100,"description":"Default 20."},
			"before":{"type":"integer","minimum":1,"description":"The \"before\" of the previous page."}`),
		OutputSchema: json.RawMessage(`{"type":"object","required":["events"],"properties":{
			"events":{"type":"array","items":{"type":"object"}},"before":{"type":"integer"}}}`),
	}, s.search)
}

func (s *Server) search(ctx context.Context, c *call, in searchInput) (SearchPage, error) {
	q := store.Search{Before: in.Before, Limit: in.Limit}
	q.Limit = cmp.Or(q.Limit, defaultSearchLimit)
	q.Limit = min(q.Limit, maxSearchLimit)
	var err error
	if q.Filter, err = filter.Parse(in.Filter); err != nil {
		return SearchPage{}, err
	}
	raw, err := s.Sessions.Search(ctx, q)
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
