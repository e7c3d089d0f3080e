package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"time"

	"github.com/hookback/hookback/schema"
)

// client makes requests to one hub.
type client struct {
	hub    string // the hub's address
	http   *http.Client
	header http.Header // sent with every request
}

// newClient returns a client of the hub at an address.
func newClient(hub string) *client {
	// The timeout ends requests to a hub that was killed.
	return &client{hub: hub, http: &http.Client{Timeout: 10 * time.Second}, header: http.Header{}}
}

// get decodes the response to a GET of path into v, which may be nil.
func (c *client) get(ctx context.Context, path string, v any) error {
	return c.call(ctx, "GET", path, nil, v)
}

// post sends body to path and decodes the response into v, which may be nil.
func (c *client) post(ctx context.Context, path string, body, v any) error {
	return c.call(ctx, "POST", path, body, v)
}

// call makes one request. A problem response becomes its error of package schema.
func (c *client) call(ctx context.Context, method, path string, body, v any) error {
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.hub+path, sent)
	if err != nil {
		return err
	}
	maps.Copy(req.Header, c.header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		var p schema.Problem
		if json.Unmarshal(got, &p) != nil {
			return fmt.Errorf("%s: %s", resp.Status, got)
		}
		return p.Err()
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(got, v)
}

// ask stores a permission question and returns its id.
func (c *client) ask(ctx context.Context, text string) (schema.EventID, error) {
	e := schema.Event{
		SourceApp: "asker", SessionID: "s", HookEventType: "DecisionPoint", Payload: []byte(`{}`),
		HumanInTheLoop: &schema.HumanInTheLoop{Question: text, Type: schema.Permission},
	}
	var saved schema.Event
	err := c.post(ctx, schema.PathEvents, e, &saved)
	return saved.ID, err
}

// approve answers a permission question with yes.
func (c *client) approve(ctx context.Context, id schema.EventID) error {
	yes := true
	return c.post(ctx, schema.At(schema.PathRespond, id), schema.Response{Permission: &yes}, nil)
}

// events returns all events of the hub by their ids.
func (c *client) events(ctx context.Context) (map[schema.EventID]schema.Event, error) {
	all := map[schema.EventID]schema.Event{}
	for after := schema.EventID(0); ; {
		var page []schema.Event
		if err := c.get(ctx, fmt.Sprintf("%s?after=%d&limit=1000", schema.PathEvents, after), &page); err != nil {
			return nil, fmt.Errorf("read events: %w", err)
		}
		if len(page) == 0 {
			return all, nil
		}
		for _, e := range page {
			all[e.ID] = e
			after = e.ID
		}
	}
}
