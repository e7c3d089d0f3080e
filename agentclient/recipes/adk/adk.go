// Package adk asks a person before the tools of an agent run: with the Agent Development Kit as a
// callback (BeforeTool), and for clients of the A2A protocol as a task that requires input
// (Executor). Copy the part that you need.
package adk

import (
	"encoding/json"

	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/tool"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema"
)

// BeforeTool returns a callback for llmagent.Config.BeforeToolCallbacks. A call that the policy
// asks about pauses until a person answers, and then runs with its id and its arguments, or with
// those that the person changed. Otherwise the model gets {"status": "rejected", "message": …}.
func BeforeTool(client *agentclient.Client, p policy.Policy) llmagent.BeforeToolCallback {
	return func(ctx tool.Context, t tool.Tool, args map[string]any) (map[string]any, error) {
		arguments, err := json.Marshal(args)
		if err != nil {
			return nil, err
		}
		call := agentclient.ToolCall{ID: ctx.FunctionCallID(), Name: t.Name(), Arguments: arguments}
		result := agentclient.Result[any]{Status: agentclient.Denied}
		switch verdict := p.Evaluate(call); verdict.Effect {
		case "", policy.Allow:
			return nil, nil // run the tool
		case policy.Deny:
			result.Reason = verdict.Reason
			return asMap(result.Confirmation())
		}
		d, err := client.Ask(ctx, agentclient.Request{
			Question: "Run " + t.Name() + "?",
			ToolCall: &schema.ToolCall{ID: call.ID, Name: call.Name, Arguments: arguments, Editable: true},
			Event:    schema.Event{SessionID: ctx.SessionID(), ToolName: call.Name, ToolUseID: call.ID},
		})
		switch {
		case err != nil:
			return nil, err
		case d.Edited:
			clear(args)
			return nil, json.Unmarshal(d.Arguments, &args)
		case d.Approved():
			return nil, nil
		}
		if result.Decision, result.Reason, result.Guidance = &d, d.Reason, d.Guidance; d.Outcome != schema.Deny {
			result.Status = agentclient.Unanswered
		}
		return asMap(result.Confirmation())
	}
}

// asMap returns v as a JSON object.
func asMap(v any) (object map[string]any, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	return object, err
}
