package notify

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/sign"
)

// ledgerHead is the newest signed head of the audit log. A copy in a mailbox or at a webhook shows
// later whether the log was rewritten.
type ledgerHead struct {
	N    int64           `json:"n"`
	Hash string          `json:"hash"`
	Head json.RawMessage `json:"head"` // schema.Envelope
}

// ledgerHead returns the newest head, or nil if there is none. A failure does not keep a message
// from being sent.
func (n *Notifier) ledgerHead(ctx context.Context) *ledgerHead {
	text, err := n.Store.LedgerHead(ctx)
	var e schema.Envelope
	var head sign.LedgerHead
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err == nil {
		err = json.Unmarshal(e.Payload, &head)
	}
	if err != nil {
		if !errors.Is(err, schema.ErrNotFound) && ctx.Err() == nil {
			n.Log.Warn("audit log head not added to a notification", "err", err)
		}
		return nil
	}
	return &ledgerHead{N: head.N, Hash: head.Hash, Head: text}
}
