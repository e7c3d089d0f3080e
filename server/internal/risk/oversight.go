package risk

import (
	"path"
	"strings"
)

// Rules about human oversight: calls that disable approval are riskier than they look.

var (
	changesHooks = rule{"oversight", high, "It changes an agent's hooks or the policy, which decide whether you are asked for approval."}
	answersHub   = rule{"oversight", high, "It answers a request in your place."}
)

// hookFiles are the suffixes of the paths from which agents load their hooks.
var hookFiles = strings.Fields(`
	/hookback.json /.claude/settings.json /.claude/settings.local.json /managed-settings.json /.codex/hooks.json /.codex/config.toml
	/.gemini/settings.json /.gemini/config/hooks.json /.agents/hooks.json /.cursor/hooks.json /.copilot/settings.json /.qwen/settings.json
	/.factory/hooks.json /.factory/settings.json /crush.json /.crush.json /.windsurf/hooks.json /.codeium/windsurf/hooks.json /.codeium/hooks.json`)

// hookFolders are directories that hold one file per hook.
var hookFolders = []string{
	"/.github/hooks/", "/.copilot/hooks/", "/.clinerules/hooks/", "/Cline/Hooks/", "/.kiro/agents/", "/.kiro/hooks/", "/opencode/plugin/", "/opencode/plugins/",
	"/.opencode/plugin/", "/.opencode/plugins/",
}

// isOversightPath reports whether a path, relative to dir, configures an agent's hooks or a policy.
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

// namesAnswerRoute reports whether text contains one of the hub's routes that answer a request.
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

// checkHubAnswer adds a finding if an HTTP client calls one of the hub's answer routes.
func (a *assessor) checkHubAnswer(inv *invocation) {
	for i := range inv.args {
		if namesAnswerRoute(inv.args[i].text) {
			a.add(answersHub, inv.span.throughIfShort(inv.args[i].span))
			return
		}
	}
}
