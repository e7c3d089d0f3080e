// Package hook implements the hook format of each coding agent: it parses the JSON
// that an agent writes to its hook's stdin, and renders a decision in the form that
// this agent accepts.
//
// The package is pure. It opens no connection, reads no file and uses no clock.
// Command hookback and the hub's /hooks routes do the rest.
//
// The formats differ in dangerous ways. One agent runs the command if a denial has an
// unknown member, another blocks on any text on stderr, a third ignores an
// "ask". So each agent has its own file here, and a golden for every case. Agents share an
// encoder only where they take exactly the same members.
package hook

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// Agent is the adapter for one coding agent's hook format.
type Agent interface {
	// Parse reads the input of one hook run. It accepts every input that names an
	// event; an error wraps ErrInput and means that there is nothing to send.
	Parse(in Input) (Call, error)
	// Render encodes v for this agent and call. A verdict that the agent can't
	// express (see Call.Capabilities) becomes the closest one that approves nothing.
	Render(c *Call, v Verdict) Reply
}

// Input is the environment in which an agent started a hook.
type Input struct {
	Stdin []byte
	// Event is the event name from the command line, for agents whose stdin lacks it.
	Event string
	Env   func(name string) string
	Dir   string // the hook's working directory
	// IsInteractive reports whether the agent certainly runs on an interactive terminal
	// and was started without any of the given arguments. A nil func means unknown.
	IsInteractive func(without ...string) bool
	// Plan returns the plan that Claude Code asks about: that in file, or the newest in the transcript if
	// file is "". It returns "" if there is none. A nil func can't read files.
	Plan func(file, transcript string) string

	// MainDir returns the directory of the project for one in a git worktree, and any other directory
	// unchanged. A nil func means that all are unchanged.
	MainDir func(dir string) string

	parsed *parsedInput // set by Parsed
}

// Call is one parsed hook run.
type Call struct {
	// Event is ready to be sent, with names, summary and the unmodified stdin as its
	// payload. Its Agent is the agent that really ran the hook, because some agents
	// also run the hooks in another agent's settings.
	Event schema.Event
	// Point is the effect that a verdict has here.
	Point Point
	// Capabilities are the kinds of answer that the agent accepts here.
	Capabilities Capability
	// Tool is the pending or finished tool call with the agent's own arguments, or nil.
	Tool *schema.ToolCall
	// Alias is the tool's common name, which policies can use for every agent: Bash,
	// Read, Write, Edit, WebFetch, WebSearch, Task or mcp__server__tool. It equals
	// Tool.Name if the tool has no common name.
	Alias string
	// Command is the command line of a shell call, independent of the argument's name.
	Command string
	// Roots are the folders of the workspace in which the agent works, as it names them.
	Roots []string
	// Unreadable means that parts of the input could not be read, and are missing from
	// Tool.Arguments and the payload. A policy can't be sure of such a call.
	Unreadable bool
	// Truncated means that the input was too long, and its long strings were cut.
	Truncated bool
	// Ask is the question for a person, without deadline and callback. It is nil if
	// this call can't be put to a person.
	Ask *schema.HumanInTheLoop
	// HasPrompt means that the agent's own prompt is open while its hook runs. The
	// first answer wins, so a waiting hook doesn't delay the agent's user.
	HasPrompt bool
	// PromptAfter is how long the agent's own prompt may stay closed for a hook that waits:
	// it opens when the hook ends without a decision. 0 means that there is no such limit.
	PromptAfter time.Duration
	// Reviewed means that a reviewer of the agent decides about a Prompt. Then no person is asked,
	// unless the policy asks for one or the reviewer's refusal becomes an Appeal.
	Reviewed bool
	// AsksLater is set if the policy leaves the call to a person and the agent continues without it.
	AsksLater bool
	// Headless means that no one can answer at the agent's own prompt.
	Headless bool
	// Fallback is the effect when no one can decide: Pass or Ask, whichever opens the
	// agent's own prompt here.
	Fallback Effect
	// Limit is the agent's default timeout for this hook.
	Limit time.Duration
	// UnknownEvent is the agent's name of an event that no adapter knows. It carries a tool
	// call without a result, so it is taken for a call that is about to run. Otherwise "".
	UnknownEvent string

	mainDir      func(dir string) string
	mcpServer    string // the agent's own name of the tool's MCP server, if it states it
	args         object // decoded Tool.Arguments, nil if they are no object
	adapterState any    // additional state for the adapter's render
	err          error  // why the input is no hook input; it wraps ErrInput
}

// Point is a kind of hook event, by the effect of the hook's answer.
type Point int

const (
	// Observe: the event is only reported. The agent takes no answer.
	Observe Point = iota
	// Gate: a call is about to run, whether or not the agent itself would ask. The
	// policy decides whether to ask a person.
	Gate
	// DeferToPrompt: like Gate, but Ask opens the agent's Prompt, where another of our
	// hooks asks the person. This hook returns Ask immediately instead of waiting.
	DeferToPrompt
	// Prompt: the agent asks its user. A person is asked unless the policy decides.
	Prompt
	// Appeal: the agent's own reviewer refused the call. A person is asked unless the policy denies
	// it. Only Allow has an effect: the model may repeat the call.
	Appeal
)

// Capability is a set of the kinds of answer that an agent accepts at a call.
type Capability uint

const (
	CanAllow    Capability = 1 << iota // approve, and skip the agent's own prompt
	CanDeny                            // deny with a reason
	CanAsk                             // open the agent's own prompt now
	CanEdit                            // run the call with edited arguments
	CanAnswer                          // receive answers to the agent's questions
	CanRemember                        // apply one of the agent's "always allow" suggestions
	CanGrant                           // run a call that the agent's own reviewer refused before
	CanMessage                         // pass a person's message to the model, with or without a decision
)

// Has reports whether c contains every capability in x.
func (c Capability) Has(x Capability) bool { return c&x == x }

// Effect is the decision of a verdict.
type Effect string

// The effects. Pass means no opinion: the agent behaves as if it had no hook.
const (
	Pass  Effect = ""
	Allow Effect = "allow"
	Deny  Effect = "deny"
	Ask   Effect = "ask"
)

// Verdict is the decision that a hook returns for a call.
type Verdict struct {
	Effect Effect
	Reason string // for the model, or the person at the agent's prompt
	// Arguments are the complete arguments as a person edited them; nil if unchanged.
	Arguments json.RawMessage
	// Answers maps question ids, as in Call.Ask, to the chosen labels or one text.
	Answers map[string][]string
	// Remember is one of Call.Ask.Suggestions, or nil.
	Remember json.RawMessage
	// StopReason ends the agent's turn with a denial, where the agent can do that. People read it.
	StopReason string
	// Messages are from people, for the model. They go with any effect.
	Messages []control.MessageText
}

// DenialReason returns the text of a person's denial for the model: the reason followed
// by the hub's guidance, or the guidance alone if it already contains the reason.
func DenialReason(reason, guidance string) string {
	if guidance == "" || strings.Contains(guidance, reason) {
		return cmp.Or(guidance, reason)
	}
	return reason + "\n" + guidance
}

// Reply is the output of a hook run. The zero value, no output and status 0, means
// no opinion for every agent.
type Reply struct {
	Stdout []byte
	// Stderr and Exit are only set for agents that can't be denied through stdout.
	Stderr []byte
	Exit   int
}
