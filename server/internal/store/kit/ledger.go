package kit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
	"github.com/hookback/hookback/schema/sign"
	"github.com/hookback/hookback/server/internal/store"
)

// FreezeData is the part of a freeze that the audit log stores.
type FreezeData struct {
	ID      int64               `json:"freeze"`
	Scope   control.FreezeScope `json:"scope,omitempty"`
	App     string              `json:"source_app,omitempty"`
	Session string              `json:"session_id,omitempty"`
	Reason  string              `json:"reason,omitempty"`
	Rule    control.FreezeRule  `json:"rule,omitempty"`
}

// GrantData is the part of a grant that the audit log stores.
type GrantData struct {
	ExpiresAt schema.Millis  `json:"expires_at,omitempty"`
	Event     schema.EventID `json:"event,omitempty"` // the call that ran
	By        string         `json:"by,omitempty"`
}

// MessageData is the part of a message that the audit log stores.
type MessageData struct {
	ID      int64          `json:"message"`
	App     string         `json:"source_app,omitempty"`
	Session string         `json:"session_id,omitempty"`
	Event   schema.EventID `json:"event,omitempty"` // that it was handed over with
}

// RuleData is the part of a rule that the audit log stores.
type RuleData struct {
	ID   int64  `json:"rule"`
	Text string `json:"text,omitempty"`
}

// ChannelData is the part of a channel that the audit log stores. It has no secrets.
type ChannelData struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Person string `json:"person,omitempty"`
}

// ChatAccountData is the part of a linked account that the audit log stores.
type ChatAccountData struct {
	Kind    string `json:"kind"`
	Account string `json:"account"`
	Label   string `json:"label,omitempty"`
	Person  string `json:"person"`
}

// KeyData is recorded in the audit log.
type KeyData struct {
	From string `json:"from"` // key ids
	To   string `json:"to"`
}

// ByHub is the actor of records that no person, agent or rule caused.
const ByHub = "hub"

// ChainEnd is the number and hash of the audit log's last entry, which the next entry
// is chained to.
type ChainEnd struct {
	N    int64
	Hash string
}

// SignEvery is the number of ledger entries after which the hub signs the head. Such a head is
// written in the transaction of its entry and kept.
const SignEvery = 100

// Next returns the entry of a record that follows end, and its bytes.
func (end ChainEnd) Next(record *store.LedgerRecord, now time.Time) (e sign.LedgerEntry, line []byte, err error) {
	e = sign.LedgerEntry{At: schema.Millis(Millis(now)), Action: record.Action, Actor: record.Actor, QuestionID: record.QuestionID}
	if record.Data != nil {
		if e.Data, err = json.Marshal(record.Data); err != nil {
			return e, nil, fmt.Errorf("encode the audit log data of %s: %w", record.Action, err)
		}
	}
	if err := e.Seal(end.N, end.Hash); err != nil {
		return e, nil, err
	}
	line, err = json.Marshal(e)
	return e, line, err
}

// NewFreezeData returns the record of a new freeze.
func NewFreezeData(f *control.Freeze) FreezeData {
	return FreezeData{ID: f.ID, Scope: f.Scope, App: f.SourceApp, Session: f.SessionID, Reason: f.Reason, Rule: f.Rule}
}
