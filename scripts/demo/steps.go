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

// begins opens a session with what the person wants.
func begins(prompt string) step {
	return func(ctx context.Context, a *agent) error {
		if err := a.tell(ctx, "SessionStart", "startup", map[string]any{"source": "startup", "model": a.part.model}); err != nil {
			return err
		}
		return prompted(prompt)(ctx, a)
	}
}

// prompted is what the person says next.
func prompted(prompt string) step {
	return func(ctx context.Context, a *agent) error {
		a.said.user(prompt)
		return a.tell(ctx, "UserPromptSubmit", prompt, map[string]any{"prompt": prompt + "\n"})
	}
}

// rests is the end of a turn: the agent says what it did, and sends its transcript along.
func rests(message string) step {
	return func(ctx context.Context, a *agent) error {
		a.said.assistant(map[string]any{"type": "text", "text": message})
		e, err := a.hook("Stop", map[string]any{"stop_hook_active": false, "last_assistant_message": message, "background_tasks": []any{}})
		if err != nil {
			return err
		}
		e.Summary = message
		if e.Chat, err = a.said.chat(); err != nil {
			return err
		}
		return a.send(ctx, e)
	}
}

// ends closes a session.
func ends(message string) step {
	return func(ctx context.Context, a *agent) error {
		if err := rests(message)(ctx, a); err != nil {
			return err
		}
		if err := a.think(ctx, 2*time.Second); err != nil {
			return err
		}
		return a.tell(ctx, "SessionEnd", "prompt_input_exit", map[string]any{"reason": "prompt_input_exit"})
	}
}

// call is a tool call.
type call struct {
	tool   string
	input  map[string]any
	output any           // what the tool says
	fails  string        // or how it fails
	takes  time.Duration // how long it runs; default: a second
}

func bash(command, description, stdout string) call {
	return call{
		tool: "Bash", input: map[string]any{"command": command, "description": description},
		output: map[string]any{"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false},
	}
}

// summary is one local line: Bash: go test ./...
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

// runs does a tool call: before, after, or how it failed.
func runs(c call) step {
	return func(ctx context.Context, a *agent) error {
		id := toolUse()
		if err := a.starts(ctx, id, c); err != nil {
			return err
		}
		return a.finishes(ctx, id, c)
	}
}

func (a *agent) starts(ctx context.Context, id string, c call) error {
	a.said.call(id, c)
	return a.tell(ctx, "PreToolUse", c.summary(), map[string]any{"tool_name": c.tool, "tool_input": c.input, "tool_use_id": id})
}

func (a *agent) finishes(ctx context.Context, id string, c call) error {
	takes := max(c.takes, time.Second)
	if err := a.think(ctx, takes); err != nil {
		return err
	}
	a.said.result(id, c)
	members := map[string]any{"tool_name": c.tool, "tool_input": c.input, "tool_use_id": id, "duration_ms": takes.Milliseconds()}
	if c.fails != "" {
		members["error"], members["is_interrupt"] = c.fails, false
		return a.tell(ctx, "PostToolUseFailure", c.summary(), members)
	}
	members["tool_response"] = c.output
	return a.tell(ctx, "PostToolUse", c.summary(), members)
}

// delegates lets a subagent do some steps.
func delegates(kind, finding string, steps ...step) step {
	return func(ctx context.Context, a *agent) error {
		helper := *a
		helper.sub = &subagent{id: strings.ReplaceAll(uuid(), "-", "")[:16], kind: kind}
		if err := helper.tell(ctx, "SubagentStart", kind, nil); err != nil {
			return err
		}
		for _, do := range steps {
			if err := do(ctx, &helper); err != nil {
				return err
			}
		}
		return helper.tell(ctx, "SubagentStop", finding, map[string]any{"stop_hook_active": false, "last_assistant_message": finding})
	}
}

// together does steps at the same time, as subagents do.
func together(steps ...step) step {
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

// notifies says that the agent wants attention.
func notifies(kind, message string) step {
	return func(ctx context.Context, a *agent) error {
		return a.tell(ctx, "Notification", message, map[string]any{"message": message, "notification_type": kind})
	}
}

// idles does nothing for a while.
func idles(d time.Duration) step {
	return func(ctx context.Context, a *agent) error { return a.think(ctx, d) }
}

// wants asks before it does c. On a no, or nobody there, it does otherwise.
func wants(c call, r agentclient.Request, otherwise step) step {
	return func(ctx context.Context, a *agent) error {
		c, r := c, r // several agents may want the same
		arguments, err := json.Marshal(c.input)
		if err != nil {
			return err
		}
		id := toolUse()
		if err := a.starts(ctx, id, c); err != nil {
			return err
		}
		members := map[string]any{"tool_name": c.tool, "tool_input": c.input}
		more := r.Event.HumanInTheLoop
		if r.Event, err = a.hook("PermissionRequest", members); err != nil {
			return err
		}
		r.Event.HumanInTheLoop = more
		r.Event.Summary = c.summary()
		editable := r.ToolCall == nil || r.ToolCall.Editable
		r.ToolCall = &schema.ToolCall{Name: c.tool, Arguments: arguments, ID: id, Editable: editable}
		d, err := a.ask(ctx, r)
		if err != nil {
			return err
		}
		if !d.Approved() {
			c.fails = "Not allowed: " + told(d)
			a.said.result(id, c)
			return otherwise(ctx, a)
		}
		c.input = nil // the one that others have too stays as it is
		if err := json.Unmarshal(d.Arguments, &c.input); err != nil {
			return fmt.Errorf("the edited arguments: %w", err)
		}
		return a.finishes(ctx, id, c)
	}
}

// needsTwo is what two people have to agree on, where the hub knows as many.
func needsTwo(c call, r agentclient.Request, otherwise step) step {
	return func(ctx context.Context, a *agent) error {
		names, err := a.voters(ctx)
		if err != nil {
			return err
		}
		if len(names) < 2 {
			a.say("would ask two people; the hub knows %d. Its sign-in link makes it yours, Settings, People invites others", len(names))
			return otherwise(ctx, a)
		}
		r := r
		r.Event.HumanInTheLoop = &schema.HumanInTheLoop{
			RequiredApprovals: 2, Recipients: &schema.Recipients{Mode: "selected_members", Members: names},
		}
		return wants(c, r, otherwise)(ctx, a)
	}
}

// voters are the people of the hub who may answer.
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
		return nil, fmt.Errorf("the people of the hub (%s): %w", res.Status, err)
	}
	var names []string
	for _, p := range people {
		if p.Role != schema.Viewer {
			names = append(names, p.Name)
		}
	}
	return names, nil
}

// asks asks for a text, a choice or several things, and goes on with the answer.
func asks(r agentclient.Request, then func(agentclient.Decision) step) step {
	return func(ctx context.Context, a *agent) error {
		var err error
		if r.Event, err = a.hook("DecisionPoint", map[string]any{"question": r.Question}); err != nil {
			return err
		}
		d, err := a.ask(ctx, r)
		if err != nil {
			return err
		}
		return then(d)(ctx, a)
	}
}

// goesOn does the same whatever the answer was.
func goesOn(next step) func(agentclient.Decision) step {
	return func(agentclient.Decision) step { return next }
}
