package hook

// AgentInfo is an entry of Agents.
type AgentInfo struct {
	Name  string // the name on the command line and in events
	Title string // the vendor's spelling
	Agent Agent
}

// Agents lists every supported agent, the most common first.
var Agents = []AgentInfo{
	{"claude-code", "Claude Code", claude{}},
	{"codex", "Codex CLI", codex{}},
	{"gemini", "Gemini CLI", gemini{}},
	{"cursor", "Cursor", cursor{}},
	{"copilot", "GitHub Copilot CLI", copilot{}},
	{"opencode", "OpenCode", opencode{}},
	{"qwen", "Qwen Code", qwen{}},
	{"droid", "Factory Droid", droid{}},
	{"crush", "Crush", crush{}},
	{"cline", "Cline", cline{}},
	{"windsurf", "Windsurf", windsurf{}},
	{"kiro", "Kiro CLI", kiro{}},
	{"antigravity", "Antigravity", antigravity{}},
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
