package hook

import (
	"cmp"
	"encoding/json"
	"strings"
)

// claudeSummaryMembers lists, by event, the members that describe it best; the first one
// present is used. The entry "" applies to events of later versions.
var claudeSummaryMembers = map[string][]string{
	"":                   {"message", "prompt", "reason", "error", "file_path", "description", "source", "trigger"},
	"SessionStart":       {"source"},
	"SessionEnd":         {"reason"},
	"Setup":              {"trigger"},
	"UserPromptSubmit":   {"prompt"},
	"Notification":       {"message", "title", "notification_type"},
	"Stop":               {"last_assistant_message"},
	"StopFailure":        {"error_details", "error"},
	"SubagentStart":      {"agent_type", "agent_id"},
	"TaskCreated":        {"task_subject", "task_id"},
	"TaskCompleted":      {"task_subject", "task_id"},
	"TeammateIdle":       {"teammate_name"},
	"PreCompact":         {"trigger"},
	"PostCompact":        {"trigger"},
	"Elicitation":        {"message"},
	"ElicitationResult":  {"action"},
	"CwdChanged":         {"new_cwd"},
	"DirectoryAdded":     {"directory"},
	"FileChanged":        {"file_path"},
	"InstructionsLoaded": {"file_path"},
	"WorktreeRemove":     {"worktree_path"},
	"PostModelSwitch":    {"to_model"},
	"PreModelSwitch":     {"to_model"},
}

// claudeSubjectMembers names the member with the event's subject, which comes before the
// description.
var claudeSubjectMembers = map[string]string{
	"SubagentStop": "agent_type", "Elicitation": "mcp_server_name", "ElicitationResult": "mcp_server_name",
	"UserPromptExpansion": "command_name", "ConfigChange": "source", "FileChanged": "event",
}

// claudeSummary returns the event's line in lists.
func claudeSummary(c *Call, o object) string {
	event := c.Event.HookEventType
	if c.Tool != nil {
		return cmp.Or(userQuestionSummary(c), c.summaryLine())
	}
	if event == "UserPromptSubmit" {
		if summary, ok := taskNotification(o.text("prompt")); ok {
			return oneLine(summary, maxSummary)
		}
	}
	if event == "PostToolBatch" {
		return oneLine(strings.Join(batchToolNames(o), ", "), maxSummary)
	}
	names, known := claudeSummaryMembers[event]
	if !known {
		names = claudeSummaryMembers[""]
		if event == "SubagentStop" {
			names = claudeSummaryMembers["Stop"]
		}
	}
	var description string
	for _, name := range names {
		description = cmp.Or(description, o.text(name))
	}
	subject := o.text(claudeSubjectMembers[event])
	if subject != "" && description != "" {
		subject += ": "
	}
	return oneLine(subject+description, maxSummary)
}

// batchToolNames returns the tool names of calls that ran in parallel.
func batchToolNames(o object) []string {
	var names []string
	for _, raw := range o.array("tool_calls") {
		var call object
		if json.Unmarshal(raw, &call) == nil && call.text("tool_name") != "" {
			names = append(names, call.text("tool_name"))
		}
	}
	return names
}

// userQuestionSummary returns the line of the two tools that ask the user, or "".
func userQuestionSummary(c *Call) string {
	question := c.args.text("plan")
	if c.Tool.Name == "AskUserQuestion" {
		for _, raw := range c.args.list("questions") {
			var q object
			_ = json.Unmarshal(raw, &q)
			question = cmp.Or(question, q.text("question"))
		}
	}
	if question == "" || c.Tool.Name != "AskUserQuestion" && c.Tool.Name != "ExitPlanMode" {
		return ""
	}
	return oneLine(c.Tool.Name+": "+question, maxSummary)
}
