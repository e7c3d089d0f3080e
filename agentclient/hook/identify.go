package hook

import (
	"cmp"
	"slices"
	"strings"
)

// Identify tells which agent runs a hook that was installed for the agent called:
// Cursor and Copilot also run what stands in Claude Code's settings. What only one
// agent writes decides; what several might write, and the environment, only counts
// against Claude Code, whose settings the others load. The zero answer is called.
func Identify(called string, in Input) string {
	o, _, err := in.parseObject()
	if err != nil {
		return called
	}
	name := cmp.Or(agentByFields(o), called)
	if name == "claude-code" || called == "" {
		name = cmp.Or(agentByEnvironment(o, in), name)
	}
	return cmp.Or(name, "claude-code")
}

// The hook names that no other agent has.
var (
	geminiNames = []string{"BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "PreCompress"}
	kiroNames   = []string{"agentSpawn", "userPromptSubmit", "preToolUse", "postToolUse", "stop"}
)

// agentByFields is the agent that alone writes such an input, or "".
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
	case slices.Contains(geminiNames, event):
		return "gemini"
	case o.has("turn_id") && o.has("model"):
		return "codex"
	case slices.Contains(kiroNames, event):
		return "kiro"
	default:
		return ""
	}
}

// transcriptDirs are the folders in which agents keep their transcripts.
var transcriptDirs = []struct{ folder, agent string }{
	{".cursor", "cursor"}, {".codex", "codex"}, {".gemini", "gemini"}, {".factory", "droid"}, {".qwen", "qwen"}, {".copilot", "copilot"}, {".claude", "claude-code"},
}

// agentByEnvironment is the agent that most likely wrote an input of Claude Code's form, or "".
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
		return "copilot" // with PascalCase names it writes as Claude Code does, and when
	case in.env("FACTORY_PROJECT_DIR") != "":
		return "droid"
	case in.env("QWEN_PROJECT_DIR") != "":
		return "qwen"
	default:
		return ""
	}
}
