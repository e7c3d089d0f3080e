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
// Two of its hooks decide. PermissionRequest runs while Claude Code's dialog is open,
// and the first answer wins, so the hook can wait as long as it likes. PreToolUse runs
// before every call and blocks it. There, "ask" opens that dialog, and so runs the
// other hook, regardless of Claude Code's own rules and modes. Without a person at the
// dialog, PreToolUse waits for the answer itself.
type claude struct{}

// claudeTools maps tools whose common name differs from their own.
var claudeTools = map[string]string{
	"MultiEdit": toolEdit, "NotebookEdit": toolEdit, "NotebookRead": toolRead, "Agent": toolTask, "PowerShell": toolBash, "Monitor": toolBash,
}

// claudeCall is the adapter state of a Call that Render needs.
type claudeCall struct {
	suggestions   []json.RawMessage  // "always allow" suggestions
	form          *form              // AskUserQuestion, Elicitation
	questionTexts []string           // AskUserQuestion: the original question texts
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
		// A WorktreeCreate hook must create the worktree, and a MessageDisplay hook delays
		// every line of output.
		return Call{}, fmt.Errorf("%w: %s hooks can't only observe", ErrInput, event)
	}
	state := &claudeCall{suggestions: validSuggestions(o.array("permission_suggestions"))}
	c := Call{Headless: isClaudeHeadless(in.Env("CLAUDE_CODE_ENTRYPOINT")), Limit: claudeTimeout(event), adapterState: state}
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
		state.setQuestion(&c, o)
	case event == "PermissionRequest" && c.Tool != nil:
		c.Point, c.Capabilities, c.HasPrompt = Prompt, CanAllow|CanDeny|CanEdit, !c.Headless
		state.setQuestion(&c, o)
		if len(state.suggestions) > 0 && state.form == nil {
			c.Ask.Suggestions, c.Capabilities = state.suggestions, c.Capabilities|CanRemember
		}
	case event == "Elicitation":
		state.setElicitation(&c, o)
	}
	return c, nil
}

// isClaudeHeadless reports whether this entry point of Claude Code has no one at a
// dialog: claude -p, the SDKs, a GitHub job, an MCP server. An empty entry point, as
// over HTTP, counts as interactive.
func isClaudeHeadless(entry string) bool {
	return strings.HasPrefix(entry, "sdk-") || strings.HasSuffix(entry, "github-action") || entry == "mcp"
}

// claudeTimeout returns Claude Code's default timeout for hooks of that event.
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

// setQuestion sets the question for a call that would run.
func (s *claudeCall) setQuestion(c *Call, o object) {
	context := schema.Context{Cwd: o.text("cwd")}
	switch c.Tool.Name {
	case "AskUserQuestion":
		s.setUserQuestions(c, &context)
	case "ExitPlanMode":
		c.Capabilities &^= CanEdit
		c.Ask = c.permissionQuestion("", context.Cwd)
		if plan := c.args.text("plan"); strings.TrimSpace(plan) != "" {
			c.Ask.Question = clip("Go ahead with this plan?\n\n"+strings.TrimSpace(plan), schema.MaxQuestionBytes)
		} else {
			c.Ask.Question = "Leave plan mode and start?"
		}
	default:
		c.Ask = c.permissionQuestion(c.args.text("description"), context.Cwd)
	}
	if c.Event.AgentID != "" {
		c.Ask.AgentPath = []string{"main", cmp.Or(c.Event.AgentType, c.Event.AgentID)}
	}
}

// maxSuggestions limits the "always allow" suggestions of one question.
const maxSuggestions = 10

// validSuggestions returns the first maxSuggestions suggestions that are objects.
func validSuggestions(suggested []json.RawMessage) []json.RawMessage {
	suggested = slices.DeleteFunc(suggested, func(s json.RawMessage) bool { return !bytes.HasPrefix(s, []byte("{")) })
	return suggested[:min(len(suggested), maxSuggestions)]
}

// findSuggestion returns the suggestion that equals remember, byte for byte as the
// agent sent it, or nil.
func (s *claudeCall) findSuggestion(remember json.RawMessage) []json.RawMessage {
	var want any
	if json.Unmarshal(remember, &want) != nil {
		return nil
	}
	for _, raw := range s.suggestions {
		var suggestion any
		if json.Unmarshal(raw, &suggestion) == nil && reflect.DeepEqual(suggestion, want) {
			return []json.RawMessage{raw}
		}
	}
	return nil
}

// Render implements Agent.
func (claude) Render(c *Call, v Verdict) Reply {
	state, _ := c.adapterState.(*claudeCall)
	if state == nil || c.Point == Observe || v.Effect == Pass {
		return Reply{}
	}
	if v.Effect != Allow {
		v.Arguments, v.Answers, v.Remember = nil, nil, nil
	}
	if v.Effect == Deny {
		v.Reason = cmp.Or(v.Reason, "A person denied this call. It was not run.")
	}
	if v = c.checkEdit(v); v.Effect == Allow && !c.Capabilities.Has(CanAllow) {
		v = Verdict{Effect: Ask}
	}
	if v.Effect == Ask && !c.Capabilities.Has(CanAsk) {
		return Reply{} // its own dialog opens or is already open
	}
	v.Reason = truncateClaudeText(v.Reason)
	if c.Event.HookEventType == "Elicitation" {
		return state.elicitationReply(v)
	}
	if state.form != nil && v.Effect == Allow {
		if v.Arguments = state.inputWithAnswers(c, v); v.Arguments == nil {
			return Reply{} // questions need answers, an approval isn't one: leave it to the dialog
		}
	}
	if c.Tool.Name == "ExitPlanMode" && v.Effect == Allow && c.Point != DeferToPrompt && c.args != nil {
		v.Arguments = c.Tool.Arguments // without arguments an approval doesn't close its dialog
	}
	if c.Event.HookEventType == "PreToolUse" {
		return preToolUseReply(v)
	}
	return permissionRequestReply(v, state.findSuggestion(v.Remember))
}

// preToolUseReply encodes the answer to PreToolUse of Claude Code, and of the agents that
// documented the same members.
func preToolUseReply(v Verdict) Reply {
	type output struct {
		HookEventName            string          `json:"hookEventName"`
		PermissionDecision       Effect          `json:"permissionDecision"`
		PermissionDecisionReason string          `json:"permissionDecisionReason,omitempty"`
		UpdatedInput             json.RawMessage `json:"updatedInput,omitempty"`
	}
	return encodeReply(map[string]output{"hookSpecificOutput": {"PreToolUse", v.Effect, v.Reason, v.Arguments}})
}

// permissionRequestReply encodes the answer to PermissionRequest of Claude Code, and of the
// agents that documented the same members.
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
	d := decision{v.Effect, v.Arguments, remember, v.denialReason()}
	return encodeReply(map[string]output{"hookSpecificOutput": {"PermissionRequest", d}})
}

// maxClaudeText is Claude Code's limit for a hook's text in UTF-16 code units. It saves
// longer texts to a file and shows only their beginning to the model.
const maxClaudeText = 10_000

// truncateClaudeText cuts a text to maxClaudeText.
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
