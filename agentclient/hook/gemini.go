package hook

import (
	"cmp"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

var geminiEvents = map[string]string{
	"BeforeTool": "PreToolUse", "AfterTool": "PostToolUse", "BeforeAgent": "UserPromptSubmit", "AfterAgent": "Stop", "PreCompress": "PreCompact",
}

// geminiTools are the tools of Gemini CLI and of its fork Qwen Code.
const geminiTools nameList = "run_shell_command read_file read_many_files write_file replace web_fetch google_web_search invoke_agent " +
	"edit web_search task agent"

// parseGemini reads the input of Google's Gemini CLI. Its BeforeTool hook can deny a call or force a prompt,
// but can't skip its own confirmation. Without a terminal (gemini -p, a pipe) "ask"
// hangs it, and its hooks can't detect that. So "ask" is used only on a terminal that
// is certainly interactive.
func parseGemini(in Input, o object, c *Call) {
	c.Headless = in.isHeadless()
	native := cmp.Or(o.nameText("hook_event_name"), in.Event)
	c.setOrigin(cmp.Or(geminiEvents[native], native), o.text("session_id"), in.env("GEMINI_PROJECT_DIR"), o.text("cwd"), in.Dir)
	c.setDetails(o)
	switch native {
	case "BeforeTool":
		c.setGeminiTool(o)
		can := CanDeny | CanEdit
		if in.isInteractive("-p", "--prompt") {
			can |= CanAsk
		}
		c.setGate(can, c.args.text("description"), o.text("cwd"))
	case "AfterTool":
		c.setGeminiTool(o)
		c.Capabilities = CanMessage
		response := o.object("tool_response")
		c.Event.Error = clip(cmp.Or(response.object("error").text("message"), response.text("error")), schema.MaxReason)
	}
}

func (c *Call) setGeminiTool(o object) {
	c.setTool(cmp.Or(o.nameText("tool_name"), unknownTool), geminiTools, o["tool_input"])
	if mcp := o.object("mcp_context"); mcp != nil {
		c.setMCPTool(mcp.text("server_name"), mcp.text("tool_name"))
	}
}

func renderGemini(c *Call, v Verdict) Reply {
	if c.Point == Observe {
		return messageReply("AfterTool", control.PromptText(v.Messages))
	}
	if v.Effect == Ask && !c.Capabilities.Has(CanAsk) && !c.Headless {
		v.Reason += interactiveHint
	}
	// Some versions replace the arguments with the edit, others merge it.
	v = c.checkMergeSafe(c.adaptVerdict(v))
	switch v.Effect {
	case Deny:
		return encodeReply("decision", v.Effect, "reason", v.Reason)
	case Ask: // its dialog shows systemMessage
		return encodeReply("decision", v.Effect, "systemMessage", v.Reason)
	case Allow:
		return encodeReply("hookSpecificOutput", encodeMembers("tool_input", v.Arguments))
	default:
		return Reply{}
	}
}
