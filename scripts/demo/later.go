package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// runLaterCall asks for a call as a policy's "then": "later" does: the call is denied for now, and the agent does other
// work, until a message with one of its next calls says that the request was approved. It then makes the call again, which
// runs if the hub hands out the grant.
func (a *agent) runLaterCall(ctx context.Context, s step) error {
	c, id, accepts := *s.Call, toolUse(), control.Accepts{Grant: true, Freeze: true, Later: true}
	if _, err := a.startGatedCall(ctx, id, c, accepts); err != nil {
		return err
	}
	asked, err := a.postLater(ctx, id, s)
	if err != nil {
		return err
	}
	denied := c
	denied.Failure = "A person was asked (request " + asked.String() + "). Continue with other work."
	a.transcript.result(id, denied)
	a.log("asks for later: %s", s.Ask.Question)
	if err := a.play(ctx, s.Steps); err != nil {
		return err
	}
	approved, err := a.waitForMessage(ctx, a.scale(seconds(*s.Ask.Timeout)))
	if err != nil {
		return err
	}
	if approved {
		id = toolUse()
		directive, err := a.startGatedCall(ctx, id, c, accepts)
		if err != nil {
			return err
		}
		if directive != nil && directive.Grant != nil && directive.Freeze == nil {
			if err := a.finishCall(ctx, id, c); err != nil {
				return err
			}
			return a.play(ctx, s.Then)
		}
		a.transcript.result(id, denied)
	}
	return a.play(ctx, s.Otherwise)
}

// postLater posts the question about a call, and does not wait for the answer.
func (a *agent) postLater(ctx context.Context, id string, s step) (schema.EventID, error) {
	arguments, err := json.Marshal(s.Call.Input)
	if err != nil {
		return 0, err
	}
	e, err := a.hookEvent("PreToolUse", map[string]any{"tool_name": s.Call.Tool, "tool_input": s.Call.Input, "tool_use_id": id})
	if err != nil {
		return 0, err
	}
	q := *s.Ask
	wait := max(a.scale(seconds(*q.Timeout)), 2*time.Second).Seconds()
	q.Type, q.Timeout = schema.Permission, &wait
	q.ToolCall = &schema.ToolCall{Name: s.Call.Tool, Arguments: arguments, ID: id, Consequence: s.Call.Consequence}
	e.Summary, e.SourceApp, e.SessionID, e.HumanInTheLoop = s.Call.summary(), a.role.App, a.session, &q
	var stored struct{ ID schema.EventID }
	err = a.callHub(ctx, http.MethodPost, schema.PathEvents, e, &stored)
	a.updateTally(func(t *tally) { t.questions++ })
	return stored.ID, err
}

// waitForMessage makes small calls until a message comes with one, or d is over. It reports whether the message approves.
func (a *agent) waitForMessage(ctx context.Context, d time.Duration) (approved bool, err error) {
	look := call{Tool: "Bash", Input: map[string]any{"command": "git status --short"}, Output: map[string]any{"stdout": ""}}
	for deadline := time.Now().Add(d); time.Now().Before(deadline); {
		id := toolUse()
		directive, err := a.startGatedCall(ctx, id, look, control.Accepts{Message: true})
		if err == nil {
			err = a.finishCall(ctx, id, look)
		}
		if err != nil {
			return false, err
		}
		if directive != nil && len(directive.Messages) > 0 {
			a.log("hears: %s", directive.Messages[0].Text)
			return strings.Contains(directive.Messages[0].Text, "was approved"), nil
		}
		if err := a.pause(ctx, 3*time.Second); err != nil {
			return false, err
		}
	}
	return false, nil
}
