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
	"MultiEdit": toolEdit, "NotebookEdit": toolEdit, "NotebookRead": toolRead, "Agent": toolTask, "PowerShell": toolBash, "Monitor": toolBash,
}

// claudeCall is what an answer needs besides the Call.
type claudeCall struct {
	suggestions   []json.RawMessage  // to always allow it
	form          *form              // AskUserQuestion, Elicitation
	questionTexts []string           // AskUserQuestion: the questions' own texts
	properties    []elicitedProperty // Elicitation
}

// Parse implements Agent.
func (claude) Parse(in Input) (Call, error) {
	o, payload, err := in.parseObject()
	if err != nil {
		return Call{}, err
	}
	event, session := cmp.Or(o.text("hook_event_name"), in.Event), o.text("session_id")
	switch event {
	case "WorktreeCreate", "MessageDisplay":
		// The first would have to make the worktree, the second holds up the screen.
		return Call{}, fmt.Errorf("%w: %s is not for watching", ErrInput, event)
	}
	own := &claudeCall{suggestions: validSuggestions(o.array("permission_suggestions"))}
	c := Call{Headless: isClaudeHeadless(in.Env("CLAUDE_CODE_ENTRYPOINT")), Limit: claudeTimeout(event), adapterState: own}
	c.Event = schema.Event{Payload: payload, Agent: "claude-code"}
	if err := c.setOrigin(event, session, in.Env("CLAUDE_PROJECT_DIR"), o.text("cwd"), in.Dir); err != nil {
		return Call{}, err
	}
	copyCommonFields(&c.Event, o)
	if tool := o.nameText("tool_name"); tool != "" {
		c.setTool(tool, claudeTools, o["tool_input"])
	}
	c.Event.Summary = claudeSummary(&c, o)
	switch {
	case event == "PreToolUse" && c.Tool != nil:
		c.Point, c.Capabilities, c.Fallback = DeferToPrompt, CanAllow|CanDeny|CanAsk|CanEdit, Ask
		if c.Headless {
			c.Point = Gate
		}
		own.setQuestion(&c, o)
	case event == "PermissionRequest" && c.Tool != nil:
		c.Point, c.Capabilities, c.HasPrompt = Prompt, CanAllow|CanDeny|CanEdit, !c.Headless
		own.setQuestion(&c, o)
		if len(own.suggestions) > 0 && own.form == nil {
			c.Ask.Suggestions, c.Capabilities = own.suggestions, c.Capabilities|CanRemember
		}
	case event == "Elicitation":
		own.setElicitation(&c, o)
	}
	return c, nil
}

// isClaudeHeadless reports whether nobody sits at a dialog at this entry point of
// Claude Code's: claude -p, the SDKs, a job of GitHub's, an MCP server. With no entry
// point named, as over HTTP, somebody does.
func isClaudeHeadless(entry string) bool {
	return strings.HasPrefix(entry, "sdk-") || strings.HasSuffix(entry, "github-action") || entry == "mcp"
}

// claudeTimeout is how long a hook may run that names no timeout.
func claudeTimeout(event string) time.Duration {
	switch event {
	case "SessionEnd":
		return 1500 * time.Millisecond
	case "UserPromptSubmit":
		return 30 * time.Second
	default:
		return 10 * time.Minute
	}
}

// setQuestion makes the question of a call that would run.
func (own *claudeCall) setQuestion(c *Call, o object) {
	where := schema.Context{Cwd: o.text("cwd")}
	switch c.Tool.Name {
	case "AskUserQuestion":
		own.setUserQuestions(c, &where)
	case "ExitPlanMode":
		c.Capabilities &^= CanEdit
		c.Ask = c.permissionQuestion("", where.Cwd)
		if plan := c.args.text("plan"); strings.TrimSpace(plan) != "" {
			c.Ask.Question = clip("Go ahead with this plan?\n\n"+strings.TrimSpace(plan), schema.MaxQuestionBytes)
		} else {
			c.Ask.Question = "Leave plan mode and begin?"
		}
	default:
		c.Ask = c.permissionQuestion(c.args.text("description"), where.Cwd)
	}
	if c.Event.AgentID != "" {
		c.Ask.AgentPath = []string{"main", cmp.Or(c.Event.AgentType, c.Event.AgentID)}
	}
}

// maxSuggestions is how many "always allow" offers a card takes.
const maxSuggestions = 10

// validSuggestions are those of Claude Code's own "always allow" offers that can be one.
func validSuggestions(suggested []json.RawMessage) []json.RawMessage {
	suggested = slices.DeleteFunc(suggested, func(s json.RawMessage) bool { return !bytes.HasPrefix(s, []byte("{")) })
	return suggested[:min(len(suggested), maxSuggestions)]
}

// findSuggestion is the offer that equals remember, byte for byte as it was made.
func (own *claudeCall) findSuggestion(remember json.RawMessage) []json.RawMessage {
	var want any
	if json.Unmarshal(remember, &want) != nil {
		return nil
	}
	for _, s := range own.suggestions {
		var have any
		if json.Unmarshal(s, &have) == nil && reflect.DeepEqual(have, want) {
			return []json.RawMessage{s}
		}
	}
	return nil
}

// Render implements Agent.
func (claude) Render(c *Call, v Verdict) Reply {
	own, _ := c.adapterState.(*claudeCall)
	if own == nil || c.Point == Observe || v.Effect == Pass {
		return Reply{}
	}
	if v.Effect != Allow {
		v.Arguments, v.Answers, v.Remember = nil, nil, nil
	}
	if v.Effect == Deny {
		v.Reason = cmp.Or(v.Reason, "A person refused this.")
	}
	if v = c.checkEdit(v); v.Effect == Allow && !c.Capabilities.Has(CanAllow) {
		v = Verdict{Effect: Ask}
	}
	if v.Effect == Ask && !c.Capabilities.Has(CanAsk) {
		return Reply{} // its own dialog opens, or is open
	}
	v.Reason = truncateClaudeText(v.Reason)
	if c.Event.HookEventType == "Elicitation" {
		return own.elicitationReply(v)
	}
	if own.form != nil && v.Effect == Allow {
		if v.Arguments = own.inputWithAnswers(c, v); v.Arguments == nil {
			return Reply{} // questions can't be approved, only answered: the dialog asks
		}
	}
	if c.Tool.Name == "ExitPlanMode" && v.Effect == Allow && c.Point != DeferToPrompt && c.args != nil {
		v.Arguments = c.Tool.Arguments // a yes alone is none to it: its dialog would stay open
	}
	if c.Event.HookEventType == "PreToolUse" {
		return preToolUseReply(v)
	}
	return permissionRequestReply(v, own.findSuggestion(v.Remember))
}

// preToolUseReply answers a PreToolUse.
func preToolUseReply(v Verdict) Reply {
	type output struct {
		HookEventName            string          `json:"hookEventName"`
		PermissionDecision       Effect          `json:"permissionDecision"`
		PermissionDecisionReason string          `json:"permissionDecisionReason,omitempty"`
		UpdatedInput             json.RawMessage `json:"updatedInput,omitempty"`
	}
	out := output{"PreToolUse", v.Effect, v.Reason, v.Arguments}
	return Reply{Stdout: encodeJSON(map[string]output{"hookSpecificOutput": out})}
}

// permissionRequestReply answers a PermissionRequest.
func permissionRequestReply(v Verdict, remember []json.RawMessage) Reply {
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
	return Reply{Stdout: encodeJSON(map[string]output{"hookSpecificOutput": {"PermissionRequest", d}})}
}

// maxClaudeText is the length that Claude Code takes a hook's text in, in the units of
// JavaScript's strings. Longer ones it puts in a file and shows their beginning.
const maxClaudeText = 10_000

// truncateClaudeText cuts a text to what Claude Code takes.
func truncateClaudeText(s string) string {
	if len(s) <= maxClaudeText {
		return s
	}
	units := 0
	for i, r := range s {
		if units += max(1, utf16.RuneLen(r)); units >= maxClaudeText {
			return s[:i] + "…"
		}
	}
	return s
}
