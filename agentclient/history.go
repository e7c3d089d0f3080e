package agentclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	"github.com/hookback/hookback/agentclient/internal/transport"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/history"
	"github.com/hookback/hookback/schema/sign"
)

// maxPageBytes limits a reply.
const maxPageBytes = 64 << 20

// Ledger returns one page of the hub's audit log, oldest first, starting after the entry
// with the given number. Each entry is returned byte for byte, because its hash covers
// these bytes (see sign.LedgerCheck). An empty page is the end.
func (c *Client) Ledger(ctx context.Context, after int64) ([]json.RawMessage, error) {
	values := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(schema.MaxPageLimit)}}
	return fetchJSON[[]json.RawMessage](ctx, c, schema.PathLedger, values, nil)
}

// LedgerHead returns the newest signed head of the audit log, an envelope of type
// schema.HeadPayload. The error is schema.ErrNotFound if there is none yet. It verifies nothing.
func (c *Client) LedgerHead(ctx context.Context) (*schema.Envelope, error) {
	head, err := fetchJSON[*schema.Envelope](ctx, c, schema.PathLedgerHead, nil, nil)
	if err == nil && head == nil {
		err = fmt.Errorf("%w: the reply contains no head", ErrMalformed)
	}
	return head, err
}

// Receipt returns the receipt of a settled question: the signed decision, with the passkey assertions
// and the entry of the audit log. Package receipt verifies it.
func (c *Client) Receipt(ctx context.Context, id schema.EventID) (*sign.Receipt, error) {
	r, err := fetchJSON[*sign.Receipt](ctx, c, schema.At(schema.PathReceipt, id), nil, nil)
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
	return fetchJSON[history.SessionPage](ctx, c, schema.PathSessions, values, nil)
}

// ReplayPolicy returns the decisions that a policy or a rule would have made about the history of the
// hub. It changes nothing. The error about an invalid policy matches schema.ErrNoPolicy.
func (c *Client) ReplayPolicy(ctx context.Context, draft history.ReplayDraft) (history.Replay, error) {
	body, err := json.Marshal(draft)
	if err != nil {
		return history.Replay{}, fmt.Errorf("encode the draft: %w", err)
	}
	return fetchJSON[history.Replay](ctx, c, history.PathReplay, nil, body)
}

// fetchJSON decodes the reply of the first hub that has one, to a GET or, with a body, to a POST.
func fetchJSON[T any](ctx context.Context, c *Client, path string, values url.Values, body []byte) (reply T, firstErr error) {
	endCall, err := c.beginCall()
	if err != nil {
		return reply, err
	}
	defer endCall()
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	for _, hub := range c.hubsInOrder() {
		res, err := c.sendRequest(ctx, transport.Request{Hub: hub, Path: path, Body: body, MaxBytes: maxPageBytes})
		switch {
		case err == nil:
			if err := json.Unmarshal(res.Body, &reply); err != nil {
				return reply, fmt.Errorf("the reply of %s to %s is not that of a hub: %w", hub, path, err)
			}
			return reply, nil
		case ctx.Err() != nil:
			return reply, ctx.Err()
		case firstErr == nil || transport.IsRejection(err):
			firstErr = err
		}
	}
	return reply, callerError(firstErr)
}
