package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// runRefusedCall makes a call that the agent's own reviewer refuses, and appeals. After a yes the
// agent repeats the call, which runs only if the hub hands out the grant.
func (a *agent) runRefusedCall(ctx context.Context, s step) error {
	c, id := *s.Call, toolUse()
	arguments, err := json.Marshal(c.Input)
	if err != nil {
		return err
	}
	if err := a.startCall(ctx, id, c); err != nil {
		return err
	}
	e, err := a.hookEvent("PermissionDenied", map[string]any{
		"tool_name": c.Tool, "tool_input": c.Input, "tool_use_id": id, "reason": c.Refused, "permission_mode": "auto",
	})
	if err != nil {
		return err
	}
	e.Summary = c.summary()
	r := request(*s.Ask, e)
	r.ToolCall = &schema.ToolCall{Name: c.Tool, Arguments: arguments, ID: id}
	d, err := a.askPerson(ctx, r)
	if err != nil {
		return err
	}
	failed := c
	failed.Failure = "Refused by the reviewer: " + c.Refused
	a.transcript.result(id, failed)
	if !d.Approved() {
		return a.play(ctx, s.Otherwise)
	}
	id = toolUse()
	directive, err := a.startGatedCall(ctx, id, c, control.Accepts{Grant: true, Freeze: true})
	if err != nil {
		return err
	}
	if directive == nil || directive.Grant == nil || directive.Freeze != nil {
		a.log("the hub handed out no grant, so the call stays refused")
		a.transcript.result(id, failed)
		return a.play(ctx, s.Otherwise)
	}
	if err := a.finishCall(ctx, id, c); err != nil {
		return err
	}
	return a.play(ctx, s.Then)
}

// startGatedCall reports the start of a call like a hook that waits for the hub's directive.
func (a *agent) startGatedCall(ctx context.Context, id string, c call, accepts control.Accepts) (*control.Directive, error) {
	a.transcript.call(id, c)
	e, err := a.hookEvent("PreToolUse", map[string]any{"tool_name": c.Tool, "tool_input": c.Input, "tool_use_id": id})
	if err != nil {
		return nil, err
	}
	e.Summary, e.SourceApp, e.SessionID = c.summary(), a.role.App, a.session
	body, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.hub+schema.PathEvents, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(control.PreferHeader, control.MinimalReturn)
	req.Header.Set(control.AcceptsHeader, accepts.String())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var receipt control.EventReceipt
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("report a call: status %s", res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(&receipt); err != nil {
		return nil, fmt.Errorf("report a call: %w", err)
	}
	a.updateTally(func(t *tally) { t.events++ })
	a.log("%s  %s", e.HookEventType, e.Summary)
	return receipt.Directive, nil
}
