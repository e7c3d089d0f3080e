package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

// ClaudeEntrypointHeader is the header in which Claude Code's http hooks send its entry
// point, as CLAUDE_CODE_ENTRYPOINT in the environment of its other hooks.
const ClaudeEntrypointHeader = "X-Claude-Entrypoint"

// claudeTools have a common name that differs from their own.
const claudeTools nameList = "MultiEdit NotebookEdit NotebookRead Agent PowerShell Monitor"

// claudeCall is the adapter state of a Call that Render needs.
type claudeCall struct {
	suggestions   []json.RawMessage  // "always allow" suggestions
	form          *form              // AskUserQuestion, Elicitation
	denyOnly      bool               // the only answer is a denial
	questionTexts []string           // AskUserQuestion: the original question texts
	properties    []elicitedProperty // Elicitation
}

// parseClaude reads the input of Claude Code.
//
// Two of its hooks decide. PermissionRequest runs while Claude Code's dialog is open,
// and the first answer wins, so the hook can wait as long as it likes. For a call of a
// subagent the dialog opens only after the hook (observed in 2.1.330, where subagents run
// in the background), so the hook waits for claudePromptAfter at most. PreToolUse runs
// before every call and blocks it. There, "ask" opens that dialog, and so runs the
// other hook, regardless of Claude Code's own rules and modes. Without a person at the
// dialog, PreToolUse waits for the answer itself.
func parseClaude(in Input, o object, c *Call) {
	event, session := cmp.Or(o.text("hook_event_name"), in.Event), o.text("session_id")
	switch event {
	case "WorktreeCreate", "MessageDisplay":
		// A WorktreeCreate hook must create the worktree, and a MessageDisplay hook delays
		// every line of output.
		c.err = fmt.Errorf("%w: %s hooks can't only observe", ErrInput, event)
		return
	case "SessionEnd":
		c.Limit = 1500 * time.Millisecond
	case "UserPromptSubmit":
		c.Limit = 30 * time.Second
	}
	state := &claudeCall{suggestions: validSuggestions(o.array("permission_suggestions"))}
	c.Headless, c.adapterState = isClaudeHeadless(in.Env("CLAUDE_CODE_ENTRYPOINT")), state
	c.setOrigin(event, session, in.Env("CLAUDE_PROJECT_DIR"), o.text("cwd"), in.Dir)
	copyCommonFields(&c.Event, o)
	tool := o.nameText("tool_name")
	if event == "PreToolUse" || event == "PermissionRequest" || event == preSkillShellCommand {
		tool = cmp.Or(tool, unknownTool)
	}
	c.mcpServer = o.object("mcp_server").text("name")
	if tool != "" {
		c.setTool(tool, claudeTools, o["tool_input"])
	}
	c.Event.Summary = claudeSummary(c, o)
	switch {
	case event == "PreToolUse":
		c.Point, c.Capabilities, c.Fallback = DeferToPrompt, CanAllow|CanDeny|CanAsk|CanEdit|CanGrant|CanMessage, Ask
		if c.Headless {
			c.Point = Gate
		}
		state.setQuestion(in, c, o)
	case event == preSkillShellCommand:
		// It takes no edits, and without an answer Claude Code's own rules decide.
		c.setGate(CanDeny, describeSkill(o), o.text("cwd"))
		c.Fallback = Pass
	case event == "PermissionRequest":
		c.Point, c.Capabilities, c.HasPrompt = Prompt, CanAllow|CanDeny|CanEdit, !c.Headless && c.Event.AgentID == ""
		if !c.Headless && !c.HasPrompt {
			c.PromptAfter = claudePromptAfter
		}
		state.setQuestion(in, c, o)
		if len(state.suggestions) > 0 && c.Ask.Type == schema.Permission {
			c.Ask.Suggestions, c.Capabilities = state.suggestions, c.Capabilities|CanRemember
		}
	case event == "PermissionDenied" && c.Tool != nil:
		c.Point, c.Capabilities = Appeal, CanAllow
		c.Ask = c.permissionQuestion(c.args.text("description"), o.text("cwd"))
		c.Ask.Appeal = &schema.Appeal{By: "Claude Code auto mode", Reason: clip(o.text("reason"), schema.MaxReason)}
		if c.Event.AgentID != "" {
			c.Ask.AgentPath = []string{"main", cmp.Or(c.Event.AgentType, c.Event.AgentID)}
		}
	case event == "Elicitation":
		state.setElicitation(c, o)
	case event == "Stop", event == "UserPromptSubmit":
		c.Capabilities = CanMessage
	}
	if c.Ask != nil && c.Ask.Type == schema.Permission {
		c.Ask.Interruptible = c.Point == Gate || c.Point == Prompt
	}
}

// preSkillShellCommand is the event of a shell line in the text of a skill or a slash command, which runs
// before the model reads the text. Claude Code has it since 2.1.331, and runs no other hook for the line.
const preSkillShellCommand = "PreSkillShellCommand"

// describeSkill returns whose shell line runs, as the reason of the question.
func describeSkill(o object) string {
	if name := o.nameText("command_name"); name != "" {
		return "A shell line in the text of /" + strings.TrimPrefix(name, "/")
	}
	return "A shell line in the text of a skill or a slash command"
}

// claudePromptAfter is how long a subagent's dialog stays closed for a person who has the
// dashboard open.
const claudePromptAfter = 2 * time.Minute

// isClaudeHeadless reports whether this entry point of Claude Code has no one at a
// dialog: claude -p, the SDKs, a GitHub job, an MCP server. An empty entry point, as
// over HTTP, counts as interactive.
func isClaudeHeadless(entry string) bool {
	return strings.HasPrefix(entry, "sdk-") || strings.HasSuffix(entry, "github-action") || entry == "mcp"
}

// setQuestion sets the question for a call that would run.
func (s *claudeCall) setQuestion(in Input, c *Call, o object) {
	context := schema.Context{Cwd: o.text("cwd")}
	switch c.Tool.Name {
	case "AskUserQuestion":
		s.setUserQuestions(c, &context)
	case "ExitPlanMode":
		s.setPlan(in, c, o)
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
	i := slices.IndexFunc(s.suggestions, func(suggestion json.RawMessage) bool { return schema.SameJSON(suggestion, remember) })
	if i < 0 {
		return nil
	}
	return s.suggestions[i : i+1]
}

func renderClaude(c *Call, v Verdict) Reply {
	state, _ := c.adapterState.(*claudeCall)
	if state != nil && c.Point == Observe && c.Capabilities.Has(CanMessage) {
		return messageReply(c.Event.HookEventType, control.PromptText(v.Messages))
	}
	if state == nil || c.Point == Observe || v.Effect == Pass && len(v.Messages) == 0 {
		return Reply{}
	}
	if c.Point == Appeal {
		return retryReply(v)
	}
	messages := v.Messages
	if state.denyOnly && len(v.Answers[""]) > 0 { // the only choice
		v.Effect = Deny
	}
	if v.Effect != Allow {
		v.Arguments, v.Answers, v.Remember = nil, nil, nil
	}
	if v.Effect == Deny {
		v.Reason = cmp.Or(v.Reason, "A person denied this call. It was not run.")
	} else {
		v.StopReason = ""
	}
	if v = c.checkEdit(v); v.Effect == Allow && !c.Capabilities.Has(CanAllow) {
		v = Verdict{Effect: Ask}
	}
	if v.Effect == Ask && !c.Capabilities.Has(CanAsk) {
		return Reply{} // its own dialog opens or is already open
	}
	v.Reason, v.StopReason = clipUTF16(v.Reason, maxClaudeText), clipUTF16(v.StopReason, maxClaudeText)
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
	if event := c.Event.HookEventType; event == "PreToolUse" || event == preSkillShellCommand {
		v.Messages = messages
		return decisionReply(event, v)
	}
	return permissionRequestReply(v, state.findSuggestion(v.Remember))
}

// messageReply passes messages to the model at an event without a call. At the end of a turn
// they keep Claude Code from stopping.
func messageReply(event, messages string) Reply {
	switch {
	case messages == "":
		return Reply{}
	case event == "Stop":
		return encodeReply("decision", "block", "reason", messages)
	default:
		return encodeReply("hookSpecificOutput", encodeMembers("hookEventName", event, "additionalContext", messages))
	}
}

// retryReply encodes the answer to PermissionDenied, which lets the model repeat the call.
func retryReply(v Verdict) Reply {
	if v.Effect != Allow {
		return Reply{}
	}
	return encodeReply("hookSpecificOutput", encodeMembers("hookEventName", "PermissionDenied", "retry", true))
}

// preToolUseReply encodes the answer to PreToolUse of the agents that documented Claude Code's members.
func preToolUseReply(v Verdict) Reply { return decisionReply("PreToolUse", v) }

// decisionReply encodes the answer to an event of Claude Code before a call.
func decisionReply(event string, v Verdict) Reply {
	output := encodeMembers("hookEventName", event, "permissionDecision", v.Effect, "permissionDecisionReason", v.Reason,
		"updatedInput", v.Arguments, "additionalContext", control.PromptText(v.Messages))
	if v.StopReason == "" {
		return encodeReply("hookSpecificOutput", output)
	}
	return encodeReply("continue", false, "stopReason", v.StopReason, "hookSpecificOutput", output)
}

// permissionRequestReply encodes the answer to PermissionRequest of Claude Code, and of the
// agents that documented the same members.
func permissionRequestReply(v Verdict, remember []json.RawMessage) Reply {
	var interrupt any
	if v.StopReason != "" {
		interrupt = true
	}
	decision := encodeMembers("behavior", v.Effect, "updatedInput", v.Arguments, "updatedPermissions", remember,
		"message", v.denialReason(), "interrupt", interrupt)
	return encodeReply("hookSpecificOutput", encodeMembers("hookEventName", "PermissionRequest", "decision", decision))
}

// maxClaudeText is Claude Code's limit for a hook's text in UTF-16 code units. It saves
// longer texts to a file and shows only their beginning to the model.
const maxClaudeText = 10_000
