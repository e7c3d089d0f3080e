package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/hookback/hookback/schema"
)

// claude is Claude Code.
//
// Two of its hooks decide. PermissionRequest runs when Claude Code asks its user,
// beside the open dialog, and the first answer wins: here the hook may wait as long
// as it likes. PreToolUse runs before every call, and the call waits for it: here an
// "ask" leads to that dialog, and so to the other hook, whatever Claude Code's own
// rules and modes would have allowed. Where nobody sits at a dialog PreToolUse waits
// for the answer itself.
type claude struct{}

// claudeTools are the tools that have another common name.
var claudeTools = map[string]string{
	"MultiEdit": edit, "NotebookEdit": edit, "NotebookRead": read, "Agent": task, "PowerShell": bash, "Monitor": bash,
}

// claudeCall is what an answer needs besides the Call.
type claudeCall struct {
	offers []json.RawMessage // to always allow it
	asks   *form             // AskUserQuestion, Elicitation
	keys   []string          // AskUserQuestion: the questions' own texts
	fields []claudeProperty  // Elicitation
}

// Parse implements Agent.
func (claude) Parse(in Input) (Call, error) {
	o, payload, err := in.object()
	if err != nil {
		return Call{}, err
	}
	event, session := cmp.Or(o.text("hook_event_name"), in.Event), o.text("session_id")
	switch event {
	case "WorktreeCreate", "MessageDisplay":
		// The first would have to make the worktree, the second holds up the screen.
		return Call{}, fmt.Errorf("%w: %s is not for watching", ErrInput, event)
	}
	own := &claudeCall{offers: offers(o.list("permission_suggestions"))}
	c := Call{Headless: claudeHeadless(in.Env("CLAUDE_CODE_ENTRYPOINT")), Limit: claudeLimit(event), own: own}
	c.Event = schema.Event{Payload: payload, Agent: "claude-code"}
	if err := c.begin(event, session, in.Env("CLAUDE_PROJECT_DIR"), o.text("cwd"), in.Dir); err != nil {
		return Call{}, err
	}
	lift(&c.Event, o)
	if tool := o.name("tool_name"); tool != "" {
		c.use(tool, claudeTools, o["tool_input"])
	}
	c.Event.Summary = claudeSummary(&c, o)
	switch {
	case event == "PreToolUse" && c.Tool != nil:
		c.Point, c.Capabilities, c.Fallback = DeferToPrompt, CanAllow|CanDeny|CanAsk|CanEdit, Ask
		if c.Headless {
			c.Point = Gate
		}
		own.ask(&c, o)
	case event == "PermissionRequest" && c.Tool != nil:
		c.Point, c.Capabilities, c.HasPrompt = Prompt, CanAllow|CanDeny|CanEdit, !c.Headless
		own.ask(&c, o)
		if len(own.offers) > 0 && own.asks == nil {
			c.Ask.Suggestions, c.Capabilities = own.offers, c.Capabilities|CanRemember
		}
	case event == "Elicitation":
		own.elicit(&c, o)
	}
	return c, nil
}

// claudeHeadless reports whether nobody sits at a dialog at this entry point of
// Claude Code's: claude -p, the SDKs, a job of GitHub's, an MCP server. With no entry
// point named, as over HTTP, somebody does.
func claudeHeadless(entry string) bool {
	return strings.HasPrefix(entry, "sdk-") || strings.HasSuffix(entry, "github-action") || entry == "mcp"
}

// claudeLimit is how long a hook may run that names no timeout.
func claudeLimit(event string) time.Duration {
	switch event {
	case "SessionEnd":
		return 1500 * time.Millisecond
	case "UserPromptSubmit":
		return 30 * time.Second
	default:
		return 10 * time.Minute
	}
}

// ask makes the question of a call that would run.
func (own *claudeCall) ask(c *Call, o object) {
	where := schema.Context{Cwd: o.text("cwd")}
	switch c.Tool.Name {
	case "AskUserQuestion":
		own.askQuestions(c, &where)
	case "ExitPlanMode":
		c.Capabilities &^= CanEdit
		c.Ask = c.permission("", where.Cwd)
		if plan := c.args.text("plan"); strings.TrimSpace(plan) != "" {
			c.Ask.Question = clip("Go ahead with this plan?\n\n"+strings.TrimSpace(plan), schema.MaxQuestionBytes)
		} else {
			c.Ask.Question = "Leave plan mode and begin?"
		}
	default:
		c.Ask = c.permission(c.args.text("description"), where.Cwd)
	}
	if c.Event.AgentID != "" {
		c.Ask.AgentPath = []string{"main", cmp.Or(c.Event.AgentType, c.Event.AgentID)}
	}
}

// maxOffers is how many "always allow" offers a card takes.
const maxOffers = 10

// offers are those of Claude Code's own "always allow" offers that can be one.
func offers(suggested []json.RawMessage) []json.RawMessage {
	suggested = slices.DeleteFunc(suggested, func(s json.RawMessage) bool { return !bytes.HasPrefix(s, []byte("{")) })
	return suggested[:min(len(suggested), maxOffers)]
}

// taken is the offer that equals remember, byte for byte as it was made.
func (own *claudeCall) taken(remember json.RawMessage) []json.RawMessage {
	var want any
	if json.Unmarshal(remember, &want) != nil {
		return nil
	}
	for _, s := range own.offers {
		var have any
		if json.Unmarshal(s, &have) == nil && reflect.DeepEqual(have, want) {
			return []json.RawMessage{s}
		}
	}
	return nil
}

// Render implements Agent.
func (claude) Render(c *Call, v Verdict) Reply {
	own, _ := c.own.(*claudeCall)
	if own == nil || c.Point == Observe || v.Effect == Pass {
		return Reply{}
	}
	if v.Effect != Allow {
		v.Arguments, v.Answers, v.Remember = nil, nil, nil
	}
	if v.Effect == Deny {
		v.Reason = cmp.Or(v.Reason, "A person refused this.")
	}
	if v = c.edited(v); v.Effect == Allow && !c.Capabilities.Has(CanAllow) {
		v = Verdict{Effect: Ask}
	}
	if v.Effect == Ask && !c.Capabilities.Has(CanAsk) {
		return Reply{} // its own dialog opens, or is open
	}
	v.Reason = claudeText(v.Reason)
	if c.Event.HookEventType == "Elicitation" {
		return own.answerElicitation(v)
	}
	if own.asks != nil && v.Effect == Allow {
		if v.Arguments = own.answered(c, v); v.Arguments == nil {
			return Reply{} // questions can't be approved, only answered: the dialog asks
		}
	}
	if c.Tool.Name == "ExitPlanMode" && v.Effect == Allow && c.Point != DeferToPrompt && c.args != nil {
		v.Arguments = c.Tool.Arguments // a yes alone is none to it: its dialog would stay open
	}
	if c.Event.HookEventType == "PreToolUse" {
		return claudeGate(v)
	}
	return claudeDecide(v, own.taken(v.Remember))
}

// claudeGate answers a PreToolUse.
func claudeGate(v Verdict) Reply {
	type output struct {
		HookEventName            string          `json:"hookEventName"`
		PermissionDecision       Effect          `json:"permissionDecision"`
		PermissionDecisionReason string          `json:"permissionDecisionReason,omitempty"`
		UpdatedInput             json.RawMessage `json:"updatedInput,omitempty"`
	}
	out := output{"PreToolUse", v.Effect, v.Reason, v.Arguments}
	return Reply{Stdout: encode(map[string]output{"hookSpecificOutput": out})}
}

// claudeDecide answers a PermissionRequest.
func claudeDecide(v Verdict, remember []json.RawMessage) Reply {
	type decision struct {
		Behavior           Effect            `json:"behavior"`
		UpdatedInput       json.RawMessage   `json:"updatedInput,omitempty"`
		UpdatedPermissions []json.RawMessage `json:"updatedPermissions,omitempty"`
		Message            string            `json:"message,omitempty"`
	}
	type output struct {
		HookEventName string   `json:"hookEventName"`
		Decision      decision `json:"decision"`
	}
	d := decision{Behavior: v.Effect, UpdatedInput: v.Arguments, UpdatedPermissions: remember}
	if v.Effect == Deny {
		d.Message = v.Reason
	}
	return Reply{Stdout: encode(map[string]output{"hookSpecificOutput": {"PermissionRequest", d}})}
}

// claudeMax is the length that Claude Code takes a hook's text in, in the units of
// JavaScript's strings. Longer ones it puts in a file and shows their beginning.
const claudeMax = 10_000

// claudeText cuts a text to what Claude Code takes.
func claudeText(s string) string {
	if len(s) <= claudeMax {
		return s
	}
	units := 0
	for i, r := range s {
		if units += max(1, utf16.RuneLen(r)); units >= claudeMax {
			return s[:i] + "…"
		}
	}
	return s
}
