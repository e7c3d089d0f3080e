package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/hookback/hookback/agentclient"
	"github.com/hookback/hookback/schema"
)

// role is an agent in a project and its steps.
type role struct {
	App, Model string
	Agent      string // name in agentclient/hook
	Steps      []step
}

// step is one action of an agent. Exactly one of the first group of members selects it.
type step struct {
	Start      string // starts a session with a prompt
	Prompt     string
	EndTurn    string // the last message; sends the transcript
	EndSession string // likewise, and ends the session
	Notify     string // notification type of Message
	Subagent   string // its kind; runs Steps and ends with its finding
	Finding    string // sets the subagent's report when it ends; with Subagent, its first finding
	Parallel   []step
	Idle       float64 // seconds
	Crash      float64 // asks in another process and kills it after these seconds
	Call       *call   // with Ask: asks for permission first, or appeals if the call is Refused, or runs Steps before the answer (later)
	Freeze     string  // with Call: freezes its own session for this reason first, and waits Idle for a person to resume it
	Ask        *schema.HumanInTheLoop

	Message   string
	Steps     []step
	Then      []step // run after an approval or an answer
	Otherwise []step // run if a call is not approved or a question not answered
}

// call is a simulated tool call.
type call struct {
	Tool     string
	Input    map[string]any
	Output   any     // tool response
	Failure  string  // error message; empty if the call succeeds
	Seconds  float64 // default 1
	Fixed    bool    // a person can't edit the input
	AnswerAs string  // the member of Input that an earlier answer's text replaces
	// Consequence is what the call does, as a real hook would compute it.
	Consequence *schema.Consequence
	Refused     string // why the agent's own reviewer refuses it; only an appeal lets it run
}

//go:embed scenario.json
var scenarioText []byte

// loadScenario returns the agents of the demo.
func loadScenario() (roles []role, err error) {
	return roles, json.Unmarshal(scenarioText, &roles)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// play runs steps one after another. An error ends the session.
func (a *agent) play(ctx context.Context, steps []step) error {
	for _, s := range steps {
		if err := a.playStep(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) playStep(ctx context.Context, s step) error {
	switch {
	case s.Start != "":
		if err := a.sendHook(ctx, "SessionStart", "startup", map[string]any{"source": "startup", "model": a.role.Model}); err != nil {
			return err
		}
		return a.sendPrompt(ctx, s.Start)
	case s.Prompt != "":
		return a.sendPrompt(ctx, s.Prompt)
	case s.EndTurn != "":
		return a.endTurn(ctx, s.EndTurn)
	case s.EndSession != "":
		if err := a.endTurn(ctx, s.EndSession); err != nil {
			return err
		}
		if err := a.simulateWork(ctx, 2*time.Second); err != nil {
			return err
		}
		return a.endSession(ctx, "prompt_input_exit")
	case s.Notify != "":
		return a.sendHook(ctx, "Notification", s.Message, map[string]any{"message": s.Message, "notification_type": s.Notify})
	case s.Subagent != "":
		return a.runSubagent(ctx, s)
	case s.Finding != "":
		a.sub.finding = s.Finding
		return nil
	case s.Parallel != nil:
		return a.playParallel(ctx, s.Parallel)
	case s.Crash > 0:
		return a.crash(ctx, seconds(s.Crash))
	case s.Freeze != "":
		return a.runFrozenCall(ctx, s)
	case s.Call != nil && s.Call.Refused != "":
		return a.runRefusedCall(ctx, s)
	case s.Call != nil && s.Ask != nil && s.Ask.Appeal != nil:
		return a.runLaterCall(ctx, s)
	case s.Call != nil && s.Ask != nil:
		return a.runGuardedCall(ctx, s)
	case s.Call != nil:
		id := toolUse()
		if err := a.startCall(ctx, id, *s.Call); err != nil {
			return err
		}
		return a.finishCall(ctx, id, *s.Call)
	case s.Ask != nil:
		return a.runQuestion(ctx, s)
	default:
		return a.simulateWork(ctx, seconds(s.Idle))
	}
}

func (a *agent) sendPrompt(ctx context.Context, prompt string) error {
	a.transcript.user(prompt)
	return a.sendHook(ctx, "UserPromptSubmit", prompt, map[string]any{"prompt": prompt + "\n"})
}

func (a *agent) endTurn(ctx context.Context, message string) error {
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

func (a *agent) runSubagent(ctx context.Context, s step) error {
	helper := *a
	helper.sub = &subagent{id: strings.ReplaceAll(uuid(), "-", "")[:16], kind: s.Subagent, finding: s.Finding}
	if err := helper.sendHook(ctx, "SubagentStart", s.Subagent, nil); err != nil {
		return err
	}
	if err := helper.play(ctx, s.Steps); err != nil {
		return err
	}
	finding := helper.sub.finding
	return helper.sendHook(ctx, "SubagentStop", finding, map[string]any{"stop_hook_active": false, "last_assistant_message": finding})
}

func (a *agent) playParallel(ctx context.Context, steps []step) error {
	errs := make(chan error, len(steps))
	for _, s := range steps {
		go func() { errs <- a.playStep(ctx, s) }()
	}
	var first error
	for range steps {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}

// summary returns one line such as "Bash: go test ./...".
func (c call) summary() string {
	for _, key := range []string{"command", "file_path", "pattern", "url"} {
		if text, ok := c.Input[key].(string); ok {
			line, _, _ := strings.Cut(text, "\n")
			return c.Tool + ": " + line
		}
	}
	return c.Tool
}

func toolUse() string { return "toolu_" + strings.ReplaceAll(uuid(), "-", "")[:24] }

func (a *agent) startCall(ctx context.Context, id string, c call) error {
	a.transcript.call(id, c)
	return a.sendHook(ctx, "PreToolUse", c.summary(), map[string]any{"tool_name": c.Tool, "tool_input": c.Input, "tool_use_id": id})
}

func (a *agent) finishCall(ctx context.Context, id string, c call) error {
	takes := seconds(max(c.Seconds, 1))
	if err := a.simulateWork(ctx, takes); err != nil {
		return err
	}
	a.transcript.result(id, c)
	members := map[string]any{"tool_name": c.Tool, "tool_input": c.Input, "tool_use_id": id, "duration_ms": takes.Milliseconds()}
	if c.Failure != "" {
		members["error"], members["is_interrupt"] = c.Failure, false
		return a.sendHook(ctx, "PostToolUseFailure", c.summary(), members)
	}
	members["tool_response"] = c.Output
	return a.sendHook(ctx, "PostToolUse", c.summary(), members)
}

// request returns the question of a step, sent with an event.
func request(q schema.HumanInTheLoop, e schema.Event) agentclient.Request {
	e.HumanInTheLoop = &q
	r := agentclient.Request{Question: q.Question, Kind: q.Type, Choices: q.Choices, Questions: q.Questions, Risk: q.Risk, Context: q.Context, Event: e}
	if q.Timeout != nil {
		r.Timeout = seconds(*q.Timeout)
	}
	return r
}

// runGuardedCall asks for permission before a call. Only an approved call gets a result.
// A question with a quorum needs as many people who can answer.
func (a *agent) runGuardedCall(ctx context.Context, s step) error {
	c, q := *s.Call, *s.Ask
	if q.RequiredApprovals > 1 {
		names, err := a.voters(ctx)
		if err != nil {
			return err
		}
		if len(names) < q.RequiredApprovals {
			a.log("needs two people who can approve; the hub has %d. Sign in with the link that the hub prints, then invite people in Team, People", len(names))
			return a.play(ctx, s.Otherwise)
		}
		q.Recipients = &schema.Recipients{Mode: "selected_members", Members: names}
	}
	arguments, err := json.Marshal(c.Input)
	if err != nil {
		return err
	}
	id := toolUse()
	if err := a.startCall(ctx, id, c); err != nil {
		return err
	}
	e, err := a.hookEvent("PermissionRequest", map[string]any{"tool_name": c.Tool, "tool_input": c.Input})
	if err != nil {
		return err
	}
	e.Summary = c.summary()
	r := request(q, e)
	r.ToolCall = &schema.ToolCall{Name: c.Tool, Arguments: arguments, ID: id, Editable: !c.Fixed, Consequence: c.Consequence}
	d, err := a.askPerson(ctx, r)
	if err != nil {
		return err
	}
	if !d.Approved() {
		c.Failure = "Not allowed: " + decisionLabel(d)
		a.transcript.result(id, c)
		return a.play(ctx, s.Otherwise)
	}
	c.Input = nil // do not decode into the scenario's map
	if err := json.Unmarshal(d.Arguments, &c.Input); err != nil {
		return fmt.Errorf("parse edited arguments: %w", err)
	}
	if d.Edited {
		c.Output = map[string]any{"stdout": "", "stderr": "The demo runs nothing and has no output for edited arguments."}
	}
	if err := a.finishCall(ctx, id, c); err != nil {
		return err
	}
	return a.play(ctx, s.Then)
}

// runQuestion asks for a text, a choice or a form.
func (a *agent) runQuestion(ctx context.Context, s step) error {
	e, err := a.hookEvent("DecisionPoint", map[string]any{"question": s.Ask.Question})
	if err != nil {
		return err
	}
	d, err := a.askPerson(ctx, request(*s.Ask, e))
	if err != nil {
		return err
	}
	if !d.Answered() {
		return a.play(ctx, s.Otherwise)
	}
	for _, next := range s.Then {
		if next.Call != nil && next.Call.AnswerAs != "" {
			answered := *next.Call
			answered.Input = maps.Clone(answered.Input)
			answered.Input[answered.AnswerAs] = d.Text
			next.Call = &answered
		}
		if err := a.playStep(ctx, next); err != nil {
			return err
		}
	}
	return nil
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
