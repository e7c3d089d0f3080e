package hook

import (
	"cmp"
	"strings"
)

// Identify returns the name of the agent that runs a hook installed for called. They
// can differ: Cursor and Copilot also run the hooks in Claude Code's settings. Members
// that only one agent writes always decide. Weaker evidence, such as the environment,
// only overrides Claude Code, whose settings the others load. Without evidence the
// result is called.
func Identify(called string, in Input) string {
	p, err := in.parseObject()
	if err != nil {
		return called
	}
	o := p.members
	name := cmp.Or(agentByFields(o), called)
	if name == "claude-code" || called == "" {
		name = cmp.Or(agentByEnvironment(o, in), name)
	}
	return cmp.Or(name, "claude-code")
}

// agentByFields returns the only agent that writes an input with these members, or "".
func agentByFields(o object) string {
	event, hasEvent := o.text("hook_event_name"), o.has("hook_event_name")
	switch {
	case o.has("cursor_version"):
		return "cursor"
	case o.has("agent_action_name"):
		return "windsurf"
	case o.has("hookName") && o.has("taskId"):
		return "cline"
	case o.has("conversationId") && o.has("workspacePaths"):
		return "antigravity"
	case o.has("toolArgs") || o.has("sessionId") && !o.has("session_id"):
		return "copilot"
	case o.has("type") && o.has("properties") && !hasEvent:
		return "opencode"
	case o.has("event") && o.has("session_id") && !hasEvent:
		return "crush"
	case geminiOwnEvents.has(event):
		return "gemini"
	case o.has("turn_id") && o.has("model"):
		return "codex"
	case kiroOwnEvents.has(event):
		return "kiro"
	default:
		return ""
	}
}

// transcriptDirs are the directories in which agents keep their transcripts.
var transcriptDirs = []struct{ folder, agent string }{
	{".cursor", "cursor"}, {".codex", "codex"}, {".gemini", "gemini"}, {".factory", "droid"}, {".qwen", "qwen"}, {".copilot", "copilot"}, {".claude", "claude-code"},
}

// agentByEnvironment returns the most likely agent behind an input in Claude Code's
// format, by its transcript path and the environment, or "".
func agentByEnvironment(o object, in Input) string {
	transcript := strings.ReplaceAll(o.text("transcript_path"), `\`, "/")
	for _, home := range transcriptDirs {
		if strings.Contains(transcript, "/"+home.folder+"/") {
			return home.agent
		}
	}
	switch {
	case in.env("CURSOR_VERSION") != "":
		return "cursor"
	case o.text("hook_event_name") == "SessionStart" && strings.Contains(transcript, "/rollout-"):
		return "codex"
	case transcript == "" && o.text("timestamp") != "" && o.text("hook_event_name") != "":
		return "copilot" // with PascalCase names it writes Claude Code's format plus a timestamp
	case in.env("FACTORY_PROJECT_DIR") != "":
		return "droid"
	case in.env("QWEN_PROJECT_DIR") != "":
		return "qwen"
	default:
		return ""
	}
}
