package hook

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/control"
)

const codexTools nameList = "shell shell_command exec_command local_shell apply_patch web_search view_image spawn_agent"

// parseCodex reads the input of OpenAI's Codex CLI. It runs the call if a denial has an unknown member, has
// no reason or is an "ask", and it takes Claude Code's members for the others.
func parseCodex(in Input, o object, c *Call) {
	c.setOrigin(cmp.Or(o.nameText("hook_event_name"), in.Event), o.text("session_id"), o.text("cwd"), in.Dir)
	c.setDetails(o)
	name, arguments := cmp.Or(o.nameText("tool_name"), unknownTool), o["tool_input"]
	switch c.Event.HookEventType {
	case "PreToolUse":
		c.setTool(name, codexTools, arguments)
		c.setGate(CanDeny|CanEdit, "", o.text("cwd"))
	case "PermissionRequest":
		c.setTool(name, codexTools, arguments)
		c.Point, c.Capabilities = Prompt, CanAllow|CanDeny|CanGrant
		c.Ask = c.permissionQuestion(c.args.text("description"), o.text("cwd"))
	case "PermissionDenied": // not an event of Codex: its transcript has the refusal
		call := o.text("tool_input")
		name, arguments = codexCall(name, call)
		c.setTool(name, codexTools, arguments)
		c.Point, c.Capabilities = Appeal, CanAllow
		cwd := cmp.Or(decodeMembers(json.RawMessage(call)).text("workdir"), o.text("cwd"))
		c.Ask = c.permissionQuestion(c.args.text("description"), cwd)
		c.Ask.Appeal = &schema.Appeal{By: "Codex auto-review", Reason: clip(o.text("reason"), schema.MaxReason)}
	case "PostToolUse", "PostToolUseFailure":
		c.setTool(name, codexTools, arguments)
		c.Capabilities = CanMessage
	}
	c.setPatchSummary()
	if c.Event.HookEventType == "SessionEnd" || c.Event.HookEventType == "Interrupt" {
		c.Limit = time.Second
	}
}

// setPatchSummary sets the summary of a patch, whose files are only named in its text.
func (c *Call) setPatchSummary() {
	if c.Tool == nil || c.Alias != toolEdit {
		return
	}
	var files []string
	for line := range strings.Lines(clip(c.args.text("command"), maxQuotedBytes)) {
		for _, head := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "} {
			if file, ok := strings.CutPrefix(line, head); ok {
				files = append(files, oneLine(file, maxSummary))
			}
		}
	}
	if len(files) == 0 {
		return
	}
	c.Event.Summary = oneLine(c.Tool.Name+": "+strings.Join(files, ", "), maxSummary)
	if c.Ask != nil {
		c.Ask.Question = "Change " + oneLine(strings.Join(files, ", "), 200) + "?"
	}
}

func renderCodex(c *Call, v Verdict) Reply {
	if c.Point == Observe {
		return messageReply(c.Event.HookEventType, control.PromptText(v.Messages))
	}
	if c.Point == Appeal {
		return c.codexRetryReply(v)
	}
	v = c.adaptVerdict(v)
	if v.Effect == Allow && v.Arguments != nil && !c.codexAcceptsEdit(v.Arguments) {
		v = c.denyEdit(v.Arguments)
	}
	switch {
	case v.Effect == Pass:
		return Reply{}
	case c.Point == Prompt:
		return permissionRequestReply(v, nil)
	case v.Effect == Allow:
		v.Reason = ""
	}
	return preToolUseReply(v)
}

// codexCall returns a call of the model as Codex sends it to its hooks, so that a grant fits the next
// prompt. call is JSON, or the text of a patch.
func codexCall(tool, call string) (name string, arguments json.RawMessage) {
	switch o := decodeMembers(json.RawMessage(call)); {
	case codexTools.commonName(tool) == toolEdit:
		return tool, encodeJSON(map[string]string{"command": call})
	case codexTools.commonName(tool) == toolBash && o.text("cmd")+o.text("command") != "":
		return toolBash, encodeMembers("command", o.text("cmd")+o.text("command"), "description", o.text("justification"))
	default:
		return tool, json.RawMessage(call)
	}
}

// codexRetryReply encodes the answer to an appeal at the end of a turn. An approval continues the turn
// with a prompt to repeat the call, which is approved only with the same arguments.
func (c *Call) codexRetryReply(v Verdict) Reply {
	if v.Effect != Allow {
		return Reply{}
	}
	return messageReply("Stop", "A person approved, in Hookback, the call that the reviewer refused. It may run once. "+
		"Run exactly this call now, with the same arguments and the same justification: "+
		c.Tool.Name+" "+compactJSON(c.Tool.Arguments))
}

// codexAcceptsEdit reports whether Codex would run exactly these arguments. For a shell
// call or a patch it only applies the member command; for other tools it applies the
// whole object.
func (c *Call) codexAcceptsEdit(arguments json.RawMessage) bool {
	if c.Alias != toolBash && c.Alias != toolEdit {
		return true
	}
	return decodeMembers(arguments).text("command") != "" && c.changesOnlyMember("command", arguments)
}
