package agentclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/sign"
)

// EventQuery selects stored events. Its conditions are combined with AND.
type EventQuery struct {
	Type  string         // hook_event_type; empty: all
	From  time.Time      // earliest time, by the hub's clock; zero: no limit
	After schema.EventID // events with a greater id
	Limit int            // page size, at most 1000; 0: 100
}

// maxPageBytes limits one page of events. A hub ends a page after the event that exceeds
// 16 MiB, and encoding can double the size.
const maxPageBytes = 64 << 20

// Events returns one page of the hub's events, oldest first. For the next page, set
// After to the id of the last event. An empty page is the end.
func (c *Client) Events(ctx context.Context, q EventQuery) ([]schema.Event, error) {
	values := url.Values{"after": {q.After.String()}}
	if q.Type != "" {
		values.Set("hook_event_type", q.Type)
	}
	if !q.From.IsZero() {
		values.Set("from", strconv.FormatInt(q.From.UnixMilli(), 10))
	}
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	return fetchJSON[[]schema.Event](ctx, c, schema.PathEvents, values)
}

// Ledger returns one page of the hub's audit log, oldest first, starting after the entry
// with the given number. Each entry is returned byte for byte, because its hash covers
// these bytes (see sign.LedgerCheck). An empty page is the end.
func (c *Client) Ledger(ctx context.Context, after int64) ([]json.RawMessage, error) {
	values := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(schema.MaxPageLimit)}}
	return fetchJSON[[]json.RawMessage](ctx, c, schema.PathLedger, values)
}

// LedgerHead returns the newest signed head of the audit log, an envelope of type
// schema.HeadPayload. The error is schema.ErrNotFound if there is none yet. It verifies nothing.
func (c *Client) LedgerHead(ctx context.Context) (*schema.Envelope, error) {
	head, err := fetchJSON[*schema.Envelope](ctx, c, schema.PathLedgerHead, nil)
	if err == nil && head == nil {
		err = fmt.Errorf("%w: the reply contains no head", ErrMalformed)
	}
	return head, err
}

// Receipt returns the receipt of a settled question: the signed decision, with the passkey assertions
// and the entry of the audit log. Package receipt verifies it.
func (c *Client) Receipt(ctx context.Context, id schema.EventID) (*sign.Receipt, error) {
	r, err := fetchJSON[*sign.Receipt](ctx, c, schema.At(schema.PathReceipt, id), nil)
	if err == nil && r == nil {
		err = fmt.Errorf("%w: the reply contains no receipt", ErrMalformed)
	}
	return r, err
}

// Sessions returns one page of the hub's sessions, latest active first. cursor is the Next of the page
// before it; empty: the first page.
func (c *Client) Sessions(ctx context.Context, cursor string) (history.SessionPage, error) {
	values := url.Values{"limit": {strconv.Itoa(history.MaxSessions)}}
	if cursor != "" {
		values.Set("cursor", cursor)
	}
	return fetchJSON[history.SessionPage](ctx, c, schema.PathSessions, values)
}

// fetchJSON decodes a body from the first hub that returns it.
func fetchJSON[T any](ctx context.Context, c *Client, path string, values url.Values) (body T, firstErr error) {
	endCall, err := c.beginCall()
	if err != nil {
		return body, err
	}
	defer endCall()
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	for _, hub := range c.hubsInOrder() {
		res, err := c.sendRequest(ctx, transport.Request{Hub: hub, Path: path, MaxBytes: maxPageBytes})
		switch {
		case err == nil:
			if err := json.Unmarshal(res.Body, &body); err != nil {
				return body, fmt.Errorf("the reply of %s to GET %s is not that of a hub: %w", hub, path, err)
			}
			return body, nil
		case ctx.Err() != nil:
			return body, ctx.Err()
		case firstErr == nil || transport.IsRejection(err):
			firstErr = err
		}
	}
	return body, transport.CallerError(firstErr)
}
