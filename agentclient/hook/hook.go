// Package hook speaks each coding agent's own hook language: it reads what an
// agent writes to its hook's stdin, and writes the answer that this agent takes.
//
// It is pure. It opens no connection, reads no file and knows no clock: command
// hookback and the hub's own /hooks routes do the rest.
//
// Agents differ where it hurts. One runs the command when a deny carries a member
// that it doesn't know, another blocks on text on stderr, a third never asks when it
// is told to. So there is no answer for all of them: each agent has its file here,
// with its own exact encoder and a golden for every case.
package hook

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
)

// Agent is a coding agent, as its hooks see it.
type Agent interface {
	// Parse makes a Call of one hook's input. It refuses nothing that it can tell the
	// session and the event of; an error means that there is nothing to send.
	Parse(in Input) (Call, error)
	// Render writes v as this agent takes it at this call. What the agent can't
	// express (see Call.Can) becomes the nearest that approves nothing.
	Render(c *Call, v Verdict) Reply
}

// Input is how a hook was started.
type Input struct {
	Stdin []byte
	// Event is the event's name where the agent gives it on the command line only.
	Event string
	Env   func(name string) string
	Dir   string // the hook's working directory
	// Attended reports whether it is certain that a person sits at the terminal of the
	// agent, which was started without any of these arguments. It may be nil, which is
	// not certain.
	Attended func(without ...string) bool

	members object // Stdin's, once it is Parsed
	payload json.RawMessage
}

// Call is one run of a hook, read.
type Call struct {
	// Event is ready to be sent: names, payload (stdin, untouched), summary and what
	// else the input tells. Its Agent is who really called: some agents run the hooks
	// in another one's settings.
	Event schema.Event
	// Point says what an answer does here.
	Point Point
	// Capabilities says which answers the agent takes here.
	Capabilities Capability
	// Tool is the call that would run, arguments as the agent has them; nil: none.
	Tool *schema.ToolCall
	// Alias is the tool's common name, which policies may use for any agent: Bash,
	// Read, Write, Edit, WebFetch, WebSearch, Task or mcp__server__tool. Like Tool.Name
	// where the agent has no other.
	Alias string
	// Command is the command line of a shell call, whatever the agent calls that
	// argument.
	Command string
	// Ask is the question as it would be put to a person, but for its deadline and
	// its way back; nil: nobody can be asked here.
	Ask *schema.HumanInTheLoop
	// HasPrompt says that the agent's own prompt is open while its hook runs: the first
	// answer wins, and waiting costs its user nothing.
	HasPrompt bool
	// Headless says that nobody sits at the agent's own prompt.
	Headless bool
	// Fallback is the verdict when nobody can decide: Pass or Ask, whichever leads to
	// the agent's own prompt here.
	Fallback Effect
	// Limit is how long the agent lets this hook run unless its settings say otherwise.
	Limit time.Duration

	args         object // Tool's arguments, where they are an object
	adapterState any    // what the agent's Answer needs besides
}

// Point is a place in an agent's work where hooks run.
type Point int

// The points.
const (
	// Observe: something happened. No answer is wanted, whatever the policy says.
	Observe Point = iota
	// Gate: a call is about to run, whether or not the agent would ask for it itself.
	// The policy says whether a person is asked.
	Gate
	// DeferToPrompt: like Gate, but an Ask leads to the agent's Prompt, where another hook of
	// ours asks the person. So a call to gate is answered Ask, at once.
	DeferToPrompt
	// Prompt: the agent itself asks its user. The person is asked, unless the policy
	// decides.
	Prompt
)

// Capability is a set of answers.
type Capability uint

// The answers an agent may take at a call.
const (
	CanAllow    Capability = 1 << iota // and skip its own prompt
	CanDeny                            // with a reason
	CanAsk                             // show its own prompt, now
	CanEdit                            // run with other arguments
	CanAnswer                          // take the answers to its questions
	CanRemember                        // take one of its own "always allow" offers
)

// Has reports whether all of x are in c.
func (c Capability) Has(x Capability) bool { return c&x == x }

// Effect is what a verdict says.
type Effect string

// The words. Pass is no opinion: the agent does what it would do without a hook.
const (
	Pass  Effect = ""
	Allow Effect = "allow"
	Deny  Effect = "deny"
	Ask   Effect = "ask"
)

// Verdict is what a hook shall say of a call.
type Verdict struct {
	Effect Effect
	Reason string // for the model, or the person at the agent's prompt
	// Arguments are the person's edit of the call's: the whole object.
	Arguments json.RawMessage
	// Answers are by question id, as in Call.Ask: labels that were picked, or a text.
	Answers map[string][]string
	// Remember is one of Call.Ask's Suggestions.
	Remember json.RawMessage
}

// Refusal is a person's no, for the model that reads it: the reason, and the guidance
// that a hub gives with it, which may say the reason already.
func Refusal(reason, guidance string) string {
	if guidance == "" || strings.Contains(guidance, reason) {
		return cmp.Or(guidance, reason)
	}
	return reason + "\n" + guidance
}

// Reply is what the hook does: it prints and exits. The zero value, silence and
// status 0, is no opinion for every agent.
type Reply struct {
	Stdout []byte
	// Stderr and Exit are only used by agents that have no other word for no.
	Stderr []byte
	Exit   int
}
