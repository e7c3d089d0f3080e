package hook

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hookback/hookback/schema"
)

var opencodeEvents = map[string]string{
	"permission.asked": "PermissionRequest", "permission.v2.asked": "PermissionRequest",
	openCodeEvaluate: "PreToolUse", "question.asked": "PermissionRequest", "question.v2.asked": "PermissionRequest",
	"tool.execute.before": "PreToolUse", "tool.execute.after": "PostToolUse",
	"session.created": "SessionStart", "session.deleted": "SessionEnd", "session.idle": "Stop", "session.error": "StopFailure",
	"session.compacted": "PostCompact",
}

// openCodeEvaluate is the event of a permission in version 2.
const openCodeEvaluate = "permission.evaluate"

// opencodeTools are tools and permissions; one permission can cover several tools.
const opencodeTools nameList = "bash shell read write edit multiedit patch apply_patch webfetch websearch task subagent"

// parseOpenCode reads the input of OpenCode. Version 1 has no deciding hook but an event bus. Our plugin
// (agentclient/install/opencode.js) runs the hook for each event, adds the working
// directory and the tool call behind a request, and posts the hook's output as the
// reply. The prompt stays open; an answer there ends the hook.
//
// Version 2 waits for the hook of permission.evaluate before its own prompt opens, and before a call that
// its rules allow. A call that its rules deny has no hook.
func parseOpenCode(in Input, o object, c *Call) {
	native, p := cmp.Or(o.nameText("type"), in.Event), o.object("properties")
	session := cmp.Or(p.text("sessionID"), p.object("info").text("id"))
	c.setOrigin(cmp.Or(opencodeEvents[native], native), session, o.text("worktree"), o.text("directory"), in.Dir)
	c.Event.ParentSessionID = p.object("info").nameText("parentID")
	failure := p.object("error")
	c.Event.Error = clip(cmp.Or(failure.object("data").text("message"), failure.text("name")), schema.MaxReason)
	c.Event.Summary = oneLine(cmp.Or(c.Event.Error, p.object("info").text("title")), maxSummary)
	c.Event.ToolUseID = cmp.Or(p.object("tool").nameText("callID"), p.object("source").nameText("callID"), p.nameText("callID"))
	cwd := cmp.Or(o.text("directory"), in.Dir)
	switch native {
	case "permission.asked", "permission.v2.asked":
		c.setOpenCodePermission(p, o.object("call"), cwd)
	case openCodeEvaluate:
		c.setOpenCodeEvaluation(p, o.object("call"), cwd)
	case "question.asked", "question.v2.asked":
		c.setOpenCodeQuestions(p, cwd)
	case "tool.execute.before", "tool.execute.after":
		c.setTool(cmp.Or(p.nameText("tool"), unknownTool), opencodeTools, p["args"])
	}
}

func (c *Call) setOpenCodePermission(p, call object, cwd string) {
	patterns, always := decodeStrings(cmp.Or(memberText(p, "patterns"), memberText(p, "resources"))), decodeStrings(cmp.Or(memberText(p, "always"), memberText(p, "save")))
	permission, metadata := cmp.Or(p.nameText("permission"), p.nameText("action"), unknownTool), p.object("metadata")
	c.setOpenCodeTool(permission, patterns, p["metadata"], call)
	c.Point, c.Capabilities, c.HasPrompt = Prompt, CanAllow|CanDeny, true
	if len(always) > 0 {
		c.Capabilities |= CanRemember
	}
	c.Ask = c.permissionQuestion(cmp.Or(c.args.text("description"), metadata.text("description")), cwd)
	c.Ask.Context.Diff = clip(metadata.text("diff"), schema.MaxQuestionBytes)
	if c.args.has("patterns") && c.Command == "" {
		c.Event.Summary = oneLine(permission+": "+strings.Join(patterns, ", "), maxSummary)
		c.Ask.Question = "Use " + oneLine(permission, 100) + ": " + oneLine(strings.Join(patterns, ", "), 200) + "?"
	}
	if len(always) > 0 {
		c.Ask.Suggestions = []json.RawMessage{openCodeAlwaysRule(permission, always)}
	}
}

// setOpenCodeEvaluation makes c a gate, or the agent's prompt if its rules would ask. No prompt is open in
// the meantime.
func (c *Call) setOpenCodeEvaluation(p, call object, cwd string) {
	c.setOpenCodePermission(p, call, cwd)
	c.Point, c.Capabilities, c.HasPrompt, c.Fallback = Gate, CanAllow|CanDeny|CanAsk, false, Ask
	c.Ask.Suggestions, c.adapterState = nil, openCodeEvaluate
	if p.text("effect") == "ask" {
		c.Event.HookEventType = "PermissionRequest"
		c.Point, c.Fallback = Prompt, Pass
	}
	if isOpenCodeOwnPermission(c.Tool.Name, call.nameText("tool")) {
		c.Event.ToolUseID = p.object("source").nameText("id") // else the event would be one with the call's own
		c.Tool.ID, c.Ask.ToolCall.ID = c.Event.ToolUseID, c.Event.ToolUseID
	}
}

// setOpenCodeTool sets the tool that a permission is for. If the call's arguments are
// known and the permission belongs to the tool, that is the tool call itself. Any other
// permission, such as for a directory outside the project, is a separate tool.
// Otherwise a policy that allows a command would also allow that directory.
func (c *Call) setOpenCodeTool(permission string, patterns []string, metadata json.RawMessage, call object) {
	tool := call.nameText("tool")
	if isObject(call["args"]) && isOpenCodeOwnPermission(permission, tool) {
		c.setTool(tool, opencodeTools, call["args"])
		return
	}
	switch {
	case tool != "" && tool != permission:
		c.setTool(permission, opencodeTools, encodeJSON(map[string]any{"patterns": patterns, "tool": tool, "args": call["args"]}))
	case len(decodeMembers(metadata)) > 0:
		c.setTool(permission, opencodeTools, metadata)
	case len(patterns) > 0:
		c.setTool(permission, opencodeTools, encodeJSON(map[string][]string{"patterns": patterns}))
	default:
		c.setTool(permission, opencodeTools, nil)
	}
	if c.Alias == toolBash && c.Command == "" {
		c.Command = strings.Join(patterns, " && ") // one pattern per command of the line
		c.Event.Summary = c.summaryLine()
	}
}

// isOpenCodeOwnPermission reports whether the permission belongs to the tool. The
// permission "edit" belongs to every tool that changes files.
func isOpenCodeOwnPermission(permission, tool string) bool {
	common, commonOfTool := opencodeTools.commonName(permission), opencodeTools.commonName(tool)
	return tool == permission || common != "" && (common == commonOfTool || common == toolEdit && commonOfTool == toolWrite)
}

// openCodeAlwaysRule returns the "always allow" suggestion in Claude Code's format, which
// the page can display.
func openCodeAlwaysRule(permission string, patterns []string) json.RawMessage {
	type rule struct {
		Tool    string `json:"toolName"`
		Content string `json:"ruleContent"`
	}
	var rules []rule
	for _, p := range patterns {
		rules = append(rules, rule{permission, p})
	}
	return encodeMembers("type", "addRules", "rules", rules, "behavior", "allow")
}

func (c *Call) setOpenCodeQuestions(p object, cwd string) {
	questions := &form{}
	for _, raw := range p.array("questions") {
		q := decodeMembers(raw)
		question := schema.FormQuestion{Question: q.text("question"), Header: q.text("header"), AllowOther: true}
		if multiple := q.boolean("multiple"); multiple != nil {
			question.Multiple = *multiple
		}
		if custom := q.boolean("custom"); custom != nil {
			question.AllowOther = *custom
		}
		for _, raw := range q.array("options") {
			option := decodeMembers(raw)
			question.Options = append(question.Options, schema.Option{Label: option.text("label"), Description: option.text("description")})
		}
		questions.add(question)
	}
	c.Event.ToolName = "question"
	if !questions.fitsOneQuestion() {
		return // leave it to the agent's prompt
	}
	c.Point, c.Capabilities, c.HasPrompt = Prompt, CanDeny|CanAnswer, true
	c.Ask, c.adapterState = questions.buildQuestion("", &schema.Context{Cwd: cwd}), questions
	c.Event.Summary = oneLine("question: "+c.Ask.Question, maxSummary)
}

func renderOpenCode(c *Call, v Verdict) Reply {
	v = c.adaptVerdict(v)
	switch {
	case c.adapterState == openCodeEvaluate:
		return openCodeEvaluationReply(v)
	case v.Effect == Deny:
		return encodeReply("reply", "reject", "message", v.Reason)
	case v.Effect != Allow:
		return Reply{}
	case c.Capabilities.Has(CanAnswer):
		questions := c.adapterState.(*form)
		var answers [][]string
		for i := range questions.questions {
			answer := questions.answers(i, v)
			if len(answer) == 0 {
				return Reply{} // OpenCode needs an answer to every question
			}
			answers = append(answers, answer)
		}
		return encodeReply("answers", answers)
	case v.Remember != nil:
		return encodeReply("reply", "always")
	default:
		return encodeReply("reply", "once")
	}
}

// openCodeEvaluationReply encodes the answer to permission.evaluate.
func openCodeEvaluationReply(v Verdict) Reply {
	if v.Effect == Pass {
		return Reply{}
	}
	return encodeReply("effect", v.Effect, "message", v.denialReason())
}

// memberText returns a member as raw JSON text, for cmp.Or.
func memberText(o object, name string) string { return string(o[name]) }

// decodeStrings decodes a JSON array of strings.
func decodeStrings(raw string) []string {
	var all []string
	_ = json.Unmarshal([]byte(raw), &all)
	return all
}
