// Package backtest compares rules with the permissions of the log: with the decisions of people, and without
// creating them. It also returns the view of a stored question that rules are matched against.
package backtest

import (
	"bytes"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/server/internal/question"
	"github.com/hookback/hookback/server/internal/rules"
	"github.com/hookback/hookback/server/internal/store"
)

// CallOf returns the view of a stored question that rules are matched against.
func CallOf(e *store.Event, q *schema.HumanInTheLoop, known Rating) *rules.Call {
	c := &rules.Call{
		ID: e.ID, Kind: q.Type, App: e.App, Session: e.Session, AgentRisk: q.Risk, HubRisk: known.Risk, Class: known.Class,
		IsRestricted: question.IsRestricted(q),
	}
	call, ok := question.CallOf(e, q)
	c.Tool, c.Arguments, c.Cwd = call.Name, call.Arguments, call.Cwd
	if ok {
		c.Hash = call.Hash()
	}
	c.Redacted = bytes.Contains(c.Arguments, []byte(schema.RedactedPrefix))
	return c
}

// Rating is the classification of the call in a stored status.
type Rating struct {
	Risk  schema.Risk  `json:"risk"`
	Class schema.Class `json:"class"`
}
