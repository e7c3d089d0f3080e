package hook

// AgentInfo is an agent in the list of those we know.
type AgentInfo struct {
	Name  string // on the command line, and in events
	Title string // as its maker writes it
	Agent Agent
}

// Agents lists every agent, the best known first.
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

// Find is the agent of that name.
func Find(name string) (AgentInfo, bool) {
	for _, a := range Agents {
		if a.Name == name {
			return a, true
		}
	}
	return AgentInfo{}, false
}
