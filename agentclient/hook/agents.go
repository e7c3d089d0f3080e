package hook

import (
	"time"

	"github.com/hookback/hookback/schema"
)

// AgentInfo is an entry of Agents.
type AgentInfo struct {
	Name  string // the name on the command line and in events
	Title string // the vendor's spelling
	Agent Agent
}

// Agents lists every supported agent, the most common first.
var Agents = []AgentInfo{
	{"claude-code", "Claude Code", &adapter{"claude-code", 10 * time.Minute, parseClaude, renderClaude}},
	{"codex", "Codex CLI", &adapter{"codex", 10 * time.Minute, parseCodex, renderCodex}},
	{"gemini", "Gemini CLI", &adapter{"gemini", time.Minute, parseGemini, renderGemini}},
	{"cursor", "Cursor", &adapter{"cursor", time.Minute, parseCursor, renderCursor}},
	{"copilot", "GitHub Copilot CLI", &adapter{"copilot", 30 * time.Second, parseCopilot, renderCopilot}},
	{"opencode", "OpenCode", &adapter{"opencode", time.Hour, parseOpenCode, renderOpenCode}},
	{"qwen", "Qwen Code", &adapter{"qwen", time.Minute, parseQwen, renderQwen}},
	{"droid", "Factory Droid", &adapter{"droid", time.Minute, parseDroid, renderDroid}},
	{"crush", "Crush", &adapter{"crush", 30 * time.Second, parseCrush, renderCrush}},
	{"cline", "Cline", &adapter{"cline", 30 * time.Second, parseCline, renderCline}},
	{"windsurf", "Windsurf", &adapter{"windsurf", 30 * time.Second, parseWindsurf, renderExitStatus}},
	{"kiro", "Kiro CLI", &adapter{"kiro", 30 * time.Second, parseKiro, renderExitStatus}},
	{"antigravity", "Antigravity", &adapter{"antigravity", 30 * time.Second, parseAntigravity, renderAntigravity}},
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

// adapter is the format of an agent's hook input and answers.
type adapter struct {
	name   string
	limit  time.Duration // the agent's default timeout for hooks
	parse  func(in Input, o object, c *Call)
	render func(c *Call, v Verdict) Reply
}

// parseKnown returns the call of an event whose name the adapter has.
func (a *adapter) parseKnown(in Input, p *parsedInput) (Call, error) {
	e := schema.Event{Agent: a.name, Payload: p.payload, PayloadSanitized: p.sanitized}
	c := Call{Event: e, Unreadable: p.unreadable, Limit: a.limit, mainDir: in.MainDir}
	if a.parse(in, p.members, &c); c.err != nil {
		return Call{}, c.err
	}
	return c, nil
}
