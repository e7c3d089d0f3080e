package hook

import (
	"cmp"
	"encoding/json"
	"strings"
)

// claudeSummaryMembers names the members that say best what happened, by event; the first that
// is there. Events of later versions are told by whatever they have.
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

// claudeSubjectMembers names the member that says who or what an event is about, before what it
// says.
var claudeSubjectMembers = map[string]string{
	"SubagentStop": "agent_type", "Elicitation": "mcp_server_name", "ElicitationResult": "mcp_server_name",
	"UserPromptExpansion": "command_name", "ConfigChange": "source", "FileChanged": "event",
}

// claudeSummary is the line that lists show.
func claudeSummary(c *Call, o object) string {
	event := c.Event.HookEventType
	if c.Tool != nil {
		return cmp.Or(userQuestionSummary(c), c.summaryLine())
	}
	if event == "UserPromptSubmit" {
		if told, ok := taskNotification(o.text("prompt")); ok {
			return oneLine(told, maxSummary)
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
	var says string
	for _, name := range names {
		says = cmp.Or(says, o.text(name))
	}
	who := o.text(claudeSubjectMembers[event])
	if who != "" && says != "" {
		who += ": "
	}
	return oneLine(who+says, maxSummary)
}

// taskNotification is what a background task tells Claude Code at its end: a prompt
// that begins with this element, and that nobody typed.
func taskNotification(prompt string) (told string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(prompt), "<task-notification>")
	if !ok {
		return "", false
	}
	_, summary, _ := strings.Cut(rest, "<summary>")
	summary, _, _ = strings.Cut(summary, "</summary>")
	return cmp.Or(strings.TrimSpace(summary), "A background task has ended"), true
}

// batchToolNames names the tools of calls that ran together.
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

// userQuestionSummary is the line of the two calls that put something to the user.
func userQuestionSummary(c *Call) string {
	asks := c.args.text("plan")
	if c.Tool.Name == "AskUserQuestion" {
		for _, raw := range c.args.array("questions") {
			var q object
			_ = json.Unmarshal(raw, &q)
			asks = cmp.Or(asks, q.text("question"))
		}
	}
	if asks == "" || c.Tool.Name != "AskUserQuestion" && c.Tool.Name != "ExitPlanMode" {
		return ""
	}
	return oneLine(c.Tool.Name+": "+asks, maxSummary)
}
