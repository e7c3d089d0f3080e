package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// promptStep starts a session with a prompt.
func promptStep(prompt string) step {
	return func(ctx context.Context, a *agent) error {
		if err := a.sendHook(ctx, "SessionStart", "startup", map[string]any{"source": "startup", "model": a.role.model}); err != nil {
			return err
		}
		return followUpStep(prompt)(ctx, a)
	}
}

// followUpStep sends another prompt.
func followUpStep(prompt string) step {
	return func(ctx context.Context, a *agent) error {
		a.transcript.user(prompt)
		return a.sendHook(ctx, "UserPromptSubmit", prompt, map[string]any{"prompt": prompt + "\n"})
	}
}

// turnEndStep ends a turn with a message and sends the transcript.
func turnEndStep(message string) step {
	return func(ctx context.Context, a *agent) error {
		a.transcript.assistant(map[string]any{"type": "text", "text": message})
		e, err := a.hookEvent("Stop", map[string]any{"stop_hook_active": false, "last_assistant_message": message, "background_tasks": []any{}})
		if err != nil {
			return err
		}
		e.Summary = message
		if e.Chat, err = a.transcript.chat(); err != nil {
			return err
		}
		return a.send(ctx, e)
	}
}

// sessionEndStep ends the turn and the session.
func sessionEndStep(message string) step {
	return func(ctx context.Context, a *agent) error {
		if err := turnEndStep(message)(ctx, a); err != nil {
			return err
		}
		if err := a.simulateWork(ctx, 2*time.Second); err != nil {
			return err
		}
		return a.sendHook(ctx, "SessionEnd", "prompt_input_exit", map[string]any{"reason": "prompt_input_exit"})
	}
}

// call is a simulated tool call.
type call struct {
	tool     string
	input    map[string]any
	output   any           // tool response
	failure  string        // error message; empty if the call succeeds
	duration time.Duration // default 1 s
}

func bash(command, description, stdout string) call {
	return call{
		tool: "Bash", input: map[string]any{"command": command, "description": description},
		output: map[string]any{"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false},
	}
}

// summary returns one line such as "Bash: go test ./...".
func (c call) summary() string {
	for _, key := range []string{"command", "file_path", "pattern", "url"} {
		if text, ok := c.input[key].(string); ok {
			line, _, _ := strings.Cut(text, "\n")
			return c.tool + ": " + line
		}
	}
	return c.tool
}

func toolUse() string { return "toolu_" + strings.ReplaceAll(uuid(), "-", "")[:24] }

// callStep reports the start and the end of a tool call.
func callStep(c call) step {
	return func(ctx context.Context, a *agent) error {
		id := toolUse()
		if err := a.startCall(ctx, id, c); err != nil {
			return err
		}
		return a.finishCall(ctx, id, c)
	}
}

func (a *agent) startCall(ctx context.Context, id string, c call) error {
	a.transcript.call(id, c)
	return a.sendHook(ctx, "PreToolUse", c.summary(), map[string]any{"tool_name": c.tool, "tool_input": c.input, "tool_use_id": id})
}

func (a *agent) finishCall(ctx context.Context, id string, c call) error {
	takes := max(c.duration, time.Second)
	if err := a.simulateWork(ctx, takes); err != nil {
		return err
	}
	a.transcript.result(id, c)
	members := map[string]any{"tool_name": c.tool, "tool_input": c.input, "tool_use_id": id, "duration_ms": takes.Milliseconds()}
	if c.failure != "" {
		members["error"], members["is_interrupt"] = c.failure, false
		return a.sendHook(ctx, "PostToolUseFailure", c.summary(), members)
	}
	members["tool_response"] = c.output
	return a.sendHook(ctx, "PostToolUse", c.summary(), members)
}

// subagentStep runs steps in a subagent.
func subagentStep(kind, finding string, steps ...step) step {
	return func(ctx context.Context, a *agent) error {
		helper := *a
		helper.sub = &subagent{id: strings.ReplaceAll(uuid(), "-", "")[:16], kind: kind}
		if err := helper.sendHook(ctx, "SubagentStart", kind, nil); err != nil {
			return err
		}
		for _, do := range steps {
			if err := do(ctx, &helper); err != nil {
				return err
			}
		}
		return helper.sendHook(ctx, "SubagentStop", finding, map[string]any{"stop_hook_active": false, "last_assistant_message": finding})
	}
}

// parallelStep runs steps concurrently.
func parallelStep(steps ...step) step {
	return func(ctx context.Context, a *agent) error {
		errs := make(chan error, len(steps))
		for _, do := range steps {
			go func() { errs <- do(ctx, a) }()
		}
		var first error
		for range steps {
			if err := <-errs; first == nil {
				first = err
			}
		}
		return first
	}
}

// notificationStep sends a notification of the agent.
func notificationStep(kind, message string) step {
	return func(ctx context.Context, a *agent) error {
		return a.sendHook(ctx, "Notification", message, map[string]any{"message": message, "notification_type": kind})
	}
}

// idleStep waits.
func idleStep(d time.Duration) step {
	return func(ctx context.Context, a *agent) error { return a.simulateWork(ctx, d) }
}

// guardedCallStep asks for permission before call c. Without an approval it runs otherwise.
func guardedCallStep(c call, r agentclient.Request, otherwise step) step {
	return func(ctx context.Context, a *agent) error {
		c, r := c, r // several agents share the arguments
		arguments, err := json.Marshal(c.input)
		if err != nil {
			return err
		}
		id := toolUse()
		if err := a.startCall(ctx, id, c); err != nil {
			return err
		}
		members := map[string]any{"tool_name": c.tool, "tool_input": c.input}
		more := r.Event.HumanInTheLoop
		if r.Event, err = a.hookEvent("PermissionRequest", members); err != nil {
			return err
		}
		r.Event.HumanInTheLoop = more
		r.Event.Summary = c.summary()
		editable := r.ToolCall == nil || r.ToolCall.Editable
		r.ToolCall = &schema.ToolCall{Name: c.tool, Arguments: arguments, ID: id, Editable: editable}
		d, err := a.askPerson(ctx, r)
		if err != nil {
			return err
		}
		if !d.Approved() {
			c.failure = "Not allowed: " + decisionLabel(d)
			a.transcript.result(id, c)
			return otherwise(ctx, a)
		}
		c.input = nil // do not decode into the shared map
		if err := json.Unmarshal(d.Arguments, &c.input); err != nil {
			return fmt.Errorf("parse edited arguments: %w", err)
		}
		return a.finishCall(ctx, id, c)
	}
}

// quorumCallStep is guardedCallStep with two required approvals. If the hub has fewer than
// two people who can answer, it runs otherwise.
func quorumCallStep(c call, r agentclient.Request, otherwise step) step {
	return func(ctx context.Context, a *agent) error {
		names, err := a.voters(ctx)
		if err != nil {
			return err
		}
		if len(names) < 2 {
			a.log("needs two people who can approve; the hub has %d. Sign in with the link that the hub prints, then invite people in Settings, People", len(names))
			return otherwise(ctx, a)
		}
		r := r
		r.Event.HumanInTheLoop = &schema.HumanInTheLoop{
			RequiredApprovals: 2, Recipients: &schema.Recipients{Mode: "selected_members", Members: names},
		}
		return guardedCallStep(c, r, otherwise)(ctx, a)
	}
}

// voters returns the names of the people who can answer.
func (a *agent) voters(ctx context.Context) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.hub+schema.PathPeople, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var people []schema.Person
	if err := json.NewDecoder(res.Body).Decode(&people); err != nil {
		return nil, fmt.Errorf("read people (status %s): %w", res.Status, err)
	}
	var names []string
	for _, p := range people {
		if p.Role != schema.Viewer {
			names = append(names, p.Name)
		}
	}
	return names, nil
}

// questionStep asks for a text, a choice or a form and continues with the answer.
func questionStep(r agentclient.Request, then func(agentclient.Decision) step) step {
	return func(ctx context.Context, a *agent) error {
		var err error
		if r.Event, err = a.hookEvent("DecisionPoint", map[string]any{"question": r.Question}); err != nil {
			return err
		}
		d, err := a.askPerson(ctx, r)
		if err != nil {
			return err
		}
		return then(d)(ctx, a)
	}
}

// always continues with next, whatever the answer is.
func always(next step) func(agentclient.Decision) step {
	return func(agentclient.Decision) step { return next }
}
