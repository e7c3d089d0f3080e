package risk

import (
	"path"
	"strings"
)

// Rules about the person's own say: what takes it away is worse than it looks.

var (
	changesHooks = rule{"oversight", high, "It changes what decides whether you are asked: an agent's hooks, or the policy."}
	answersHub   = rule{"oversight", high, "It answers a request at the hub in your place."}
)

// hookFiles are where agents look for their hooks: the ends of paths.
var hookFiles = strings.Fields(`
	/hookback.json /.claude/settings.json /.claude/settings.local.json /managed-settings.json /.codex/hooks.json /.codex/config.toml
	/.gemini/settings.json /.gemini/config/hooks.json /.agents/hooks.json /.cursor/hooks.json /.copilot/settings.json /.qwen/settings.json
	/.factory/hooks.json /.factory/settings.json /crush.json /.crush.json /.windsurf/hooks.json /.codeium/windsurf/hooks.json /.codeium/hooks.json`)

// hookFolders hold a file for each hook.
var hookFolders = []string{
	"/.github/hooks/", "/.copilot/hooks/", "/.clinerules/hooks/", "/Cline/Hooks/", "/.kiro/agents/", "/.kiro/hooks/", "/opencode/plugin/", "/opencode/plugins/",
	"/.opencode/plugin/", "/.opencode/plugins/",
}

// isOversightPath reports whether a path, seen from dir, is of an agent's hooks or of a
// policy.
func isOversightPath(dir, p string) bool {
	if p = toSlashes(strings.TrimPrefix(p, "file://")); !isAbsolute(p) {
		p = path.Join(dir, p)
	}
	p = "/" + strings.TrimPrefix(path.Clean(p), "/")
	for _, file := range hookFiles {
		if strings.HasSuffix(p, file) {
			return true
		}
	}
	for _, folder := range hookFolders {
		if strings.Contains(p, folder) {
			return true
		}
	}
	return false
}

// namesAnswerRoute reports whether a text names the hub's way to answer.
func namesAnswerRoute(text string) bool {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "/events/")
		if !ok {
			return false
		}
		rest = after
		first, verb, _ := strings.Cut(after, "/")
		for _, end := range []string{"respond", "undo"} {
			if next, ok := strings.CutPrefix(verb, end); ok && !strings.ContainsAny(first, " \n") && !startsWithNameByte(next) {
				return true
			}
		}
		if next, ok := strings.CutPrefix(after, "approve"); ok && !startsWithNameByte(next) {
			return true
		}
	}
}

func startsWithNameByte(s string) bool {
	return s != "" && (isLetter(s[0]) || isDigit(s[0]) || s[0] == '_' || s[0] == '-')
}

// checkHubAnswer is for programs that talk to web servers.
func (a *assessor) checkHubAnswer(inv *invocation) {
	for i := range inv.args {
		if namesAnswerRoute(inv.args[i].text) {
			a.add(answersHub, inv.span.throughIfShort(inv.args[i].span))
			return
		}
	}
}
