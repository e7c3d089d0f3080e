package hook

// AgentInfo is an entry of Agents.
type AgentInfo struct {
	Name  string // the name on the command line and in events
	Title string // the vendor's spelling
	Agent Agent
}

// Agents lists every supported agent, the most common first.
var Agents = []AgentInfo{
	{"claude-code", "Claude Code", gateUnknown{claude{}, "claude-code"}},
	{"codex", "Codex CLI", gateUnknown{codex{}, "codex"}},
	{"gemini", "Gemini CLI", gateUnknown{gemini{}, "gemini"}},
	{"cursor", "Cursor", gateUnknown{cursor{}, "cursor"}},
	{"copilot", "GitHub Copilot CLI", gateUnknown{copilot{}, "copilot"}},
	{"opencode", "OpenCode", gateUnknown{opencode{}, "opencode"}},
	{"qwen", "Qwen Code", gateUnknown{qwen{}, "qwen"}},
	{"droid", "Factory Droid", gateUnknown{droid{}, "droid"}},
	{"crush", "Crush", gateUnknown{crush{}, "crush"}},
	{"cline", "Cline", gateUnknown{cline{}, "cline"}},
	{"windsurf", "Windsurf", gateUnknown{windsurf{}, "windsurf"}},
	{"kiro", "Kiro CLI", gateUnknown{kiro{}, "kiro"}},
	{"antigravity", "Antigravity", gateUnknown{antigravity{}, "antigravity"}},
}

// Find returns the agent with that name and whether it exists.
func Find(name string) (AgentInfo, bool) {
	for _, a := range Agents {
		if a.Name == name {
			return a, true
		}
	}
	return AgentInfo{}, false
}
