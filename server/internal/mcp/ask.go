package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/inbox"
	"github.com/hookback/hookback/server/internal/hub"
)

// maxAwaitSeconds limits the long poll of await_hitl_request. Clients of this protocol give
// up after a minute.
const maxAwaitSeconds = 50

// Ticket is a question and its current state.
type Ticket struct {
	inbox.HitlRequest
	Secret   string `json:"secret,omitempty"`
	Guidance string `json:"guidance,omitempty"` // for the model, once there is an answer
}

// askHumanInput is the input of ask_human.
type askHumanInput struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices"`
	Other    bool     `json:"allow_other"`
	Context  string   `json:"context"`
	Urgency  string   `json:"urgency"`
	Timeout  *float64 `json:"timeout_seconds"`
}

type awaitAnswerInput struct {
	RequestID requestID `json:"request_id"`
	Secret    string    `json:"secret"`
	Wait      float64   `json:"max_wait_seconds"`
}

// approvalInput is the input of request_approval, as Claude Code sends it.
type approvalInput struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"input"`
	Use   string          `json:"tool_use_id"`
}

func (s *Server) addAskTools(server *sdk.Server) {
	add(server, sdk.Tool{
		Name: "ask_human", Title: "Ask a person",
		Description: `Ask a person a question. They answer in the Hookback inbox. Returns a ticket immediately (request_id, secret, status "pending"), or the answer if it arrives within two seconds. Then call await_hitl_request with request_id and secret until status is no longer "pending"; you can do other work in the meantime.
Without choices, the person answers with text. With choices, they pick one, or answer with text if allow_other is set; choices ["approve","deny"] ask for permission. Ask one question at a time, and put everything the person needs to know into context. Never ask for passwords, keys or tokens: such questions are rejected.`,
		Annotations: &sdk.ToolAnnotations{DestructiveHint: ptr(false), OpenWorldHint: ptr(true)},
		InputSchema: objectSchema([]string{"question"}, `
			"question":{"type":"string","minLength":1,"description":"The question, in full sentences."},
			"choices":{"type":"array","maxItems":100,"items":{"type":"string","minLength":1},"description":"The labels to choose from. Omit for a text answer."},
			"allow_other":{"type":"boolean","description":"With choices: the person may also answer with a text of their own, which is then the response."},
			"context":{"type":"string","description":"Why you ask, and what depends on the answer."},
			"urgency":{"type":"string","enum":["low","normal","high"],"description":"How soon you need the answer."},
			"timeout_seconds":{"type":"number","minimum":0,"description":"How long people have to answer. 0: no limit. Default 300, or the timeout in the client's URL."}`),
		OutputSchema: json.RawMessage(requestSchema),
	}, s.askHuman)
	add(server, sdk.Tool{
		Name: "await_hitl_request", Title: "Wait for a person's answer",
		Description: `Wait for the answer to a question, at most 50 seconds. A result with status "pending" is not an error: no one has answered yet. Call this tool again or do other work. Pass the secret of your ticket: it confirms that the answer reached you.`,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: ptr(true)},
		InputSchema: objectSchema([]string{"request_id"}, `
			`+requestIDSchema+`,
			"secret":{"type":"string","description":"The ticket's secret."},
			"max_wait_seconds":{"type":"number","minimum":0,"maximum":50,"description":"How long to wait. Default 30."}`),
		OutputSchema: json.RawMessage(requestSchema),
	}, s.await)
	addText(server, sdk.Tool{
		Name: "request_approval", Title: "Ask for permission to use a tool",
		Description: `For clients, not for models: claude --permission-prompt-tool calls it before a tool runs. Waits until a person decides and returns {"behavior":"allow","updatedInput":…} or {"behavior":"deny","message":…}. If no one answers in time, it denies.`,
		Annotations: &sdk.ToolAnnotations{DestructiveHint: ptr(false), OpenWorldHint: ptr(true)},
		InputSchema: json.RawMessage(`{"type":"object","required":["tool_name","input"],"properties":{
			"tool_name":{"type":"string","minLength":1,"description":"The tool to run."},
			"input":{"type":"object","description":"The complete input of the tool."},
			"tool_use_id":{"type":"string","description":"The id of the call."}}}`),
	}, s.requestApproval)
}

func (s *Server) askHuman(ctx context.Context, c *call, in askHumanInput) (Ticket, error) {
	hitl := &schema.HumanInTheLoop{Question: in.Question, Type: schema.FreeText, Choices: in.Choices, Timeout: &c.seconds}
	if in.Timeout != nil {
		hitl.Timeout = in.Timeout
	}
	takesText := len(in.Choices) == 0 || in.Other
	switch {
	case takesText && asksForSecret(in.Question):
		return Ticket{}, &schema.HintError{
			Err:  &schema.FieldError{Field: "question", Detail: "asks for a secret, but answers are stored and displayed"},
			Hint: "Ask the person to put it where the program that needs it reads it, such as a secret store or a page of that service, and to tell you when it is done.",
		}
	case slices.Equal(in.Choices, []string{"approve", "deny"}) && !in.Other:
		hitl.Type, hitl.Choices = schema.Permission, nil
	case len(in.Choices) > 0:
		hitl.Type, hitl.AllowOther = schema.Choice, in.Other
	}
	if in.Context != "" {
		hitl.Context = &schema.Context{Why: in.Context}
	}
	payload, err := json.Marshal(map[string]string{"question": in.Question, "context": in.Context, "urgency": cmp.Or(in.Urgency, "normal")})
	if err != nil {
		return Ticket{}, err
	}
	e := schema.Event{
		SourceApp: cmp.Or(c.app, "mcp"), SessionID: c.session, HookEventType: "AskHuman",
		Payload: payload, Summary: in.Question, HumanInTheLoop: hitl,
	}
	if in.Urgency == "high" {
		e.Summary = "Urgent: " + e.Summary
	}
	question, err := s.postQuestion(ctx, &e, c.by)
	if err != nil {
		return Ticket{}, err
	}
	t, err := s.readTicket(ctx, c, question.ID, hub.PullOptions{Wait: s.QuickAnswerWait, Secret: question.RequestSecret})
	t.Secret = question.RequestSecret
	return t, err
}

// postQuestion stores an event with a question and returns the stored event. The answer is
// pulled.
func (s *Server) postQuestion(ctx context.Context, e *schema.Event, by hub.Caller) (*schema.Event, error) {
	if err := s.Hub.People.Check(schema.AccessPost, by.Identity); err != nil {
		return nil, err
	}
	if len(e.Summary) > 200 {
		e.Summary = strings.ToValidUTF8(e.Summary[:200], "") + "…"
	}
	e.Timestamp = schema.Millis(s.Hub.Clock().UnixMilli())
	body, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	saved, err := s.Hub.Ingest(context.WithoutCancel(ctx), body, by)
	if err != nil {
		return nil, err
	}
	s.Hub.ResponseSent(saved.ID) // there is no listener to dial
	question := new(schema.Event)
	return question, json.Unmarshal(saved.JSON, question)
}

func (s *Server) await(ctx context.Context, c *call, in awaitAnswerInput) (Ticket, error) {
	in.Wait = cmp.Or(in.Wait, 30)
	if err := s.requireReadable(ctx, c, schema.EventID(in.RequestID)); err != nil {
		return Ticket{}, err
	}
	wait := time.Duration(min(in.Wait, maxAwaitSeconds) * float64(time.Second))
	return s.readTicket(ctx, c, schema.EventID(in.RequestID), hub.PullOptions{Wait: wait, Secret: in.Secret})
}

// readTicket waits until the question is settled or the pull's wait ends, and returns its
// state.
func (s *Server) readTicket(ctx context.Context, c *call, id schema.EventID, p hub.PullOptions) (t Ticket, err error) {
	answer, err := s.wait(ctx, id, p)
	if err != nil && !errors.Is(err, schema.ErrExpired) { // ErrExpired: the question was withdrawn or canceled
		return t, err
	}
	if answer != nil {
		var a schema.Answer
		if err := json.Unmarshal(answer, &a); err != nil {
			return t, err
		}
		t.Guidance = a.Guidance
	}
	t.HitlRequest, err = s.Query.Request(context.WithoutCancel(ctx), id, c.by.Identity)
	return t, err
}

// permissionResult is the result that claude --permission-prompt-tool expects.
type permissionResult struct {
	Behavior     string          `json:"behavior"`
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
	Message      string          `json:"message,omitempty"`
}

func denyResult(reason string) (string, error) {
	b, err := json.Marshal(permissionResult{Behavior: "deny", Message: reason})
	return string(b), err
}

// requestApproval asks as the hook of Claude Code's own prompt would, so that a person sees
// the same request: form questions with their options, a plan, or a command with its risk.
func (s *Server) requestApproval(ctx context.Context, c *call, in approvalInput) (string, error) {
	claude, _ := hook.Find("claude-code")
	stdin, err := json.Marshal(map[string]any{
		"hook_event_name": "PermissionRequest", "session_id": c.session,
		"tool_name": in.Tool, "tool_input": in.Input, "tool_use_id": in.Use,
	})
	if err != nil {
		return "", err
	}
	run, err := claude.Agent.Parse(hook.Input{Stdin: stdin, Env: headlessEnv})
	if err != nil || run.Ask == nil {
		return denyResult("Nothing was approved: the call could not be read, so no one was asked. Do not run it.")
	}
	e, ask := run.Event, *run.Ask
	e.SourceApp, e.SessionID = cmp.Or(c.app, "claude-code"), c.session
	ask.Timeout, e.HumanInTheLoop = &c.seconds, &ask
	by := c.by
	by.WaitsForAnswer = true
	question, err := s.postQuestion(ctx, &e, by)
	if err != nil {
		return denyResult("Nothing was approved, because no one could be asked. Do not run this call. The error: " + errorText(err).Error())
	}
	// Slightly longer than the question's deadline, so that the question expires first.
	limit := time.Duration(c.seconds*float64(time.Second)) + 2*time.Second
	raw, err := s.wait(ctx, question.ID, hub.PullOptions{Wait: limit, Secret: question.RequestSecret})
	if raw == nil {
		return s.withdraw(ctx, c, question.ID, err)
	}
	var a schema.Answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return "", err
	}
	v := run.VerdictOf(&a)
	if v.Effect != hook.Allow {
		return denyResult(cmp.Or(v.Reason, a.Guidance, "No one approved this call. Nothing was run. Do not try to reach the same end another way."))
	}
	return allowResult(claude.Agent.Render(&run, v), in.Input)
}

// headlessEnv is the environment of a Claude Code without an interactive terminal.
func headlessEnv(name string) string {
	if name == "CLAUDE_CODE_ENTRYPOINT" {
		return "sdk-cli"
	}
	return ""
}

// withdraw ends a question whose requester stopped waiting, or cannot wait because the hub
// has too many waiting calls. It returns the denial.
func (s *Server) withdraw(ctx context.Context, c *call, id schema.EventID, cause error) (string, error) {
	reason := hub.ReasonAgentGone
	if c.waitCtx.Err() != nil {
		reason = hub.ReasonHubStopped
	}
	if err := s.Hub.Abandon(context.WithoutCancel(ctx), id, "", reason); err != nil {
		s.Log.Error("approval request could not be abandoned", "event", id, "err", err)
	}
	if cause != nil {
		return denyResult("Nothing was approved, because the answer could not be read. Do not run this call. The error: " + errorText(cause).Error())
	}
	return denyResult("Nothing was approved: the hub is stopping or has too many waiting requests, so no one could answer. Do not run this call; ask again later.")
}

// allowResult converts a hook's decision to the result of the permission prompt tool.
func allowResult(reply hook.Reply, input json.RawMessage) (string, error) {
	var out struct {
		Specific struct {
			Decision permissionResult `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if len(reply.Stdout) == 0 || json.Unmarshal(reply.Stdout, &out) != nil || out.Specific.Decision.Behavior != "allow" {
		return denyResult("Nothing was approved: the person's answer does not fit this call. Do not run it.")
	}
	result := permissionResult{Behavior: "allow", UpdatedInput: out.Specific.Decision.UpdatedInput}
	if len(bytes.TrimSpace(result.UpdatedInput)) == 0 {
		result.UpdatedInput = input
	}
	b, err := json.Marshal(result)
	return string(b), err
}

// secretNounPattern matches names of secrets. An answer must not contain one: it would be
// stored and shown to everyone with access to the dashboard.
const secretNounPattern = `(?:pass ?words?|pass ?phrases?|api[ -]?keys?|access[ -]?keys?|private[ -]?keys?|secret[ -]?keys?|client[ -]?secrets?|(?:access|auth|bearer|refresh|session)?[ -]?tokens?|credentials?|secrets?|one[ -]time codes?|otp|2fa codes?|verification codes?|pin(?: code| number)?|cvv|cvc|(?:credit )?card numbers?|(?:seed|recovery) phrases?|ssh keys?)` //nolint:gosec // names of secrets, none itself

// secretRequestPattern matches phrases that ask for something.
const secretRequestPattern = `(?:enter|paste|provide|give|send|share|type|tell|supply|input|submit|fill in|let me have|i need|we need|may i have|can i have|what(?:'s| is| are))`

// secretPatterns are compiled at the first question: that takes a twentieth of the CPU time of the start of a hub.
var secretPatterns = sync.OnceValue(func() (p struct{ request, only, about *regexp.Regexp }) {
	p.request = regexp.MustCompile(`(?i)\b` + secretRequestPattern + `\b(?:\s+(?:me|us|in|the|your|my|our|a|an|its|their|this|that|please|here|of|for|to|db|database|admin|root|user|production|[\w.-]{1,30}'s|[A-Za-z0-9_.-]{1,20})){0,4}\s+` + secretNounPattern + `\b`)
	p.only = regexp.MustCompile(`(?i)^\W*(?:(?:your|the|[\w.-]{1,20})\s+){0,3}` + secretNounPattern + `\W*$`)
	// about matches questions about a secret that do not ask for it.
	p.about = regexp.MustCompile(`(?i)\b` + secretNounPattern + `\b\s+(?:expir|length|policy|policies|format|name|names|lifetime|rotation|budget|limit|limits|count|usage|storage|manager|provider|scheme|type|types|strategy|flow|be\b|should\b)`)
	return p
})

// asksForSecret reports whether a question asks for a password or another secret. It
// prevents mistakes and is no security boundary: it is easy to rephrase a question.
func asksForSecret(question string) bool {
	p := secretPatterns()
	return p.only.MatchString(question) || p.request.MatchString(p.about.ReplaceAllString(question, " "))
}
