package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

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
var claudeTools = map[string]string{"MultiEdit": edit, "NotebookEdit": edit, "NotebookRead": read, "Agent": task, "PowerShell": bash}

// Read implements Agent.
func (claude) Read(in Input) (Call, error) {
	o, payload, err := readObject(in.Stdin)
	if err != nil {
		return Call{}, err
	}
	event, session := cmp.Or(o.name("hook_event_name"), in.Event), o.name("session_id")
	if event == "" || session == "" {
		return Call{}, fmt.Errorf("%w: it names no event or no session", ErrInput)
	}
	c := Call{Headless: claudeHeadless(in.Env("CLAUDE_CODE_ENTRYPOINT")), Limit: claudeLimit(event)}
	c.Event = schema.Event{
		SourceApp:     cmp.Or(project(in.Env("CLAUDE_PROJECT_DIR"), o.text("cwd"), in.Dir), "claude-code"),
		SessionID:     session,
		HookEventType: event,
		Payload:       payload,
		Agent:         "claude-code",
	}
	lift(&c.Event, o)
	if tool := o.name("tool_name"); tool != "" {
		c.use(tool, claudeTools, o["tool_input"])
	}
	switch event {
	case "PreToolUse":
		claudePreToolUse(&c, o)
	case "PermissionRequest":
		claudePermissionRequest(&c, o)
	}
	return c, nil
}

// claudeHeadless reports whether an entry point of Claude Code's has no dialog:
// claude -p and the SDKs.
func claudeHeadless(entry string) bool {
	return strings.HasPrefix(entry, "sdk-") || strings.Contains(entry, "github-action") || entry == "mcp"
}

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

func claudePreToolUse(c *Call, o object) {
	if c.Tool == nil {
		return
	}
	c.Point, c.Can, c.Fallback = Hands, CanAllow|CanDeny|CanAsk|CanEdit, Ask
	if c.Headless {
		c.Point = Gate
	}
	c.Ask = c.permission(o.object("tool_input").text("description"), o.text("cwd"))
}

func claudePermissionRequest(c *Call, o object) {
	if c.Tool == nil {
		return
	}
	c.Point, c.Can, c.Prompts = Prompt, CanAllow|CanDeny|CanEdit, !c.Headless
	c.Ask = c.permission(o.object("tool_input").text("description"), o.text("cwd"))
}

// Answer implements Agent.
func (claude) Answer(c *Call, v Verdict) Reply {
	if c.Point == Tells || v.Word == Pass {
		return Reply{}
	}
	if c.Event.HookEventType == "PreToolUse" {
		return claudeGate(v)
	}
	return claudeDecide(v)
}

// claudeGate answers a PreToolUse.
func claudeGate(v Verdict) Reply {
	type output struct {
		HookEventName            string          `json:"hookEventName"`
		PermissionDecision       Word            `json:"permissionDecision"`
		PermissionDecisionReason string          `json:"permissionDecisionReason,omitempty"`
		UpdatedInput             json.RawMessage `json:"updatedInput,omitempty"`
	}
	out := output{HookEventName: "PreToolUse", PermissionDecision: v.Word, PermissionDecisionReason: v.Reason}
	if v.Word == Allow {
		out.UpdatedInput = v.Arguments
	}
	return Reply{Stdout: encode(map[string]output{"hookSpecificOutput": out})}
}

// claudeDecide answers a PermissionRequest. Its dialog is open: to ask is silence.
func claudeDecide(v Verdict) Reply {
	type decision struct {
		Behavior     Word            `json:"behavior"`
		UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
		Message      string          `json:"message,omitempty"`
	}
	type output struct {
		HookEventName string   `json:"hookEventName"`
		Decision      decision `json:"decision"`
	}
	d := decision{Behavior: v.Word}
	switch v.Word {
	case Allow:
		d.UpdatedInput = v.Arguments
	case Deny:
		d.Message = v.Reason
	default:
		return Reply{}
	}
	return Reply{Stdout: encode(map[string]output{"hookSpecificOutput": {"PermissionRequest", d}})}
}
