package tables

import (
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// The data that the audit log stores about an action.

// freezeData is the part of a freeze that the audit log stores.
type freezeData struct {
	ID      int64               `json:"freeze"`
	Scope   control.FreezeScope `json:"scope,omitempty"`
	App     string              `json:"source_app,omitempty"`
	Session string              `json:"session_id,omitempty"`
	Reason  string              `json:"reason,omitempty"`
	Rule    control.FreezeRule  `json:"rule,omitempty"`
}

// grantData is the part of a grant that the audit log stores.
type grantData struct {
	ExpiresAt schema.Millis  `json:"expires_at,omitempty"`
	Event     schema.EventID `json:"event,omitempty"` // the call that ran
}

// messageData is the part of a message that the audit log stores.
type messageData struct {
	ID      int64          `json:"message"`
	App     string         `json:"source_app,omitempty"`
	Session string         `json:"session_id,omitempty"`
	Event   schema.EventID `json:"event,omitempty"` // that it was handed over with
}

// ruleData is the part of a rule that the audit log stores.
type ruleData struct {
	ID   int64  `json:"rule"`
	Text string `json:"text,omitempty"`
}

// channelData is the part of a channel that the audit log stores. It has no secrets.
type channelData struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Person string `json:"person,omitempty"`
}

// chatAccountData is the part of a linked account that the audit log stores.
type chatAccountData struct {
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
