package agentclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/hookback/hookback/schema"
)

// EventQuery says which stored events are wanted: those that match all of it.
type EventQuery struct {
	Type  string         // hook_event_type; empty: any
	From  time.Time      // not before, by the hub's clock; zero: from the beginning
	After schema.EventID // only newer ones
	Limit int            // at most, up to 1000; default 100
}

// maxPageBytes is how much of a page of events is read: a hub ends one at 16 MiB and the
// event that goes beyond, which is written twice as long at worst.
const maxPageBytes = 64 << 20

// Events is one page of the hub's events, oldest first. The next page begins After
// the last of them; an empty page is the end.
func (c *Client) Events(ctx context.Context, q EventQuery) ([]schema.Event, error) {
	endCall, err := c.beginCall()
	if err != nil {
		return nil, err
	}
	defer endCall()
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
	return fetchPage[schema.Event](ctx, c, schema.PathEvents, values)
}

// Ledger is one page of the hub's ledger, oldest first: the entries behind the given
// number, each byte for byte what its hash is of (see schema.LedgerCheck). An empty
// page is the end.
func (c *Client) Ledger(ctx context.Context, after int64) ([]json.RawMessage, error) {
	endCall, err := c.beginCall()
	if err != nil {
		return nil, err
	}
	defer endCall()
	values := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(schema.MaxPageLimit)}}
	return fetchPage[json.RawMessage](ctx, c, schema.PathLedger, values)
}

// fetchPage reads a list from the first hub that gives it.
func fetchPage[T any](ctx context.Context, c *Client, path string, values url.Values) (page []T, firstErr error) {
	for _, hub := range c.hubsInOrder() {
		res, err := c.sendRequest(ctx, request{hub: hub, path: path + "?" + values.Encode(), maxBytes: maxPageBytes})
		switch {
		case err == nil:
			if err := json.Unmarshal(res.body, &page); err != nil {
				return nil, fmt.Errorf("%s answers GET %s, but not as a hub does: %w", hub, path, err)
			}
			return page, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case firstErr == nil || isRejection(err):
			firstErr = err
		}
	}
	return nil, callerError(firstErr)
}
