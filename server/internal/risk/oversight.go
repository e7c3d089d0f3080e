package risk

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
)

// Rules about human oversight: calls that disable approval are riskier than they look.

var (
	changesHooks = rule{"oversight", high, "It changes an agent's hooks or the policy, which decide whether you are asked for approval."}
	answersHub   = rule{"oversight", high, "It answers a request in your place, or manages the hub."}
	changesHub   = rule{"oversight", high, "It reads or changes the hub's keys, pins or address."}
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

// hubRoute is a route of the hub that an agent has no business with.
type hubRoute struct {
	segments []string // of the path; empty for a parameter
	shared   bool     // a GET route has the same path
}

// hubRoutes are the routes that answer or manage requests, by their first segment.
var hubRoutes = func() map[string][]hubRoute {
	m := map[string][]hubRoute{}
	for _, r := range routes.All {
		decides := slices.Contains([]schema.Access{schema.AccessDecide, schema.AccessCancel, schema.AccessKeep, schema.AccessOwn, schema.AccessAdmin}, r.Access)
		if r.Method == "GET" || !decides && r.Path != schema.PathLinkVote {
			continue
		}
		h := hubRoute{segments: strings.Split(r.Path[1:], "/")}
		for i, s := range h.segments {
			if strings.HasPrefix(s, ":") {
				h.segments[i] = ""
			}
		}
		h.shared = slices.ContainsFunc(routes.All, func(other routes.Route) bool { return other.Method == "GET" && other.Path == r.Path })
		m[h.segments[0]] = append(m[h.segments[0]], h)
	}
	return m
}()

// namesHubRoute reports whether text contains the path of a route that answers or manages requests.
// A path that reads with GET counts only if the call may change something.
func namesHubRoute(text string, changes bool) bool {
	if strings.Contains(text, "%") {
		if plain, err := url.PathUnescape(text); err == nil {
			text = plain
		}
	}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "/")
		if !ok {
			return false
		}
		rest = after
		first := after[:pathSegmentLen(after)]
		for _, r := range hubRoutes[strings.ToLower(first)] {
			if (changes || !r.shared) && r.matches(after) {
				return true
			}
		}
	}
}

// maxPathSegment is longer than any segment of a route, ids included.
const maxPathSegment = 256

// pathSegmentLen returns the length of the path segment at the start of s.
func pathSegmentLen(s string) int {
	s = s[:min(len(s), maxPathSegment)]
	if n := strings.IndexAny(s, "/?#\"'` \t\r\n\\),;"); n >= 0 {
		return n
	}
	return len(s)
}

func (r *hubRoute) matches(text string) bool {
	for i, want := range r.segments {
		if i > 0 {
			if !strings.HasPrefix(text, "/") {
				return false
			}
			text = text[1:]
		}
		n := pathSegmentLen(text)
		if n == 0 || want != "" && !strings.EqualFold(text[:n], want) {
			return false
		}
		text = text[n:]
	}
	return !strings.HasPrefix(text, "/")
}

// mayChange reports whether the words of a request name a method that changes something.
func mayChange(text string) bool {
	upper := strings.ToUpper(text[:min(len(text), maxPath)])
	return strings.Contains(upper, "POST") || strings.Contains(upper, "DELETE")
}

// networkPrograms reach addresses that their arguments name.
var networkPrograms = newSet(`curl wget http https xh curlie invoke-restmethod invoke-webrequest irm iwr nc ncat netcat socat openssl telnet websocat wscat lynx w3m links
	elinks aria2c axel httpx grpcurl ab hey wrk k6 vegeta siege fetch chromium google-chrome firefox open xdg-open start start-process bitsadmin certutil lwp-request GET POST`)

// checkHubRoutes adds a finding if a program that reaches addresses names one of the hub's routes that
// answer or manage requests, or if text with one is sent to the network.
func (a *assessor) checkHubRoutes(inv *invocation) {
	sent := inv.cmd.sentAway || slices.ContainsFunc(inv.cmd.redirects, func(r redirect) bool { return strings.HasPrefix(r.target.text, "/dev/tcp/") })
	if !networkPrograms[inv.name] && !sent {
		return
	}
	changes := curlData.matchesAny(inv.args) || sent
	for i := range inv.args {
		text := inv.args[i].text
		changes = changes || len(text) < 64 && mayChange(text) || strings.HasPrefix(text, "--post") || strings.HasPrefix(text, "--body")
	}
	for i := range inv.args {
		if namesHubRoute(inv.args[i].text, changes) {
			a.add(answersHub, inv.span.throughIfShort(inv.args[i].span))
			return
		}
	}
}

// isHubFile reports whether a path names the hub's database or key, or the hubs that an account
// trusts.
func isHubFile(p string) bool {
	if !strings.Contains(p, "hook") && !strings.Contains(p, "known_hubs") {
		return false
	}
	p = path.Clean(toSlashes(strings.TrimPrefix(p, "file://")))
	base := path.Base(p)
	return base == "known_hubs" || base == "hookback.db" || strings.HasPrefix(base, "hookback.db-") || strings.HasPrefix(base, "hookback.db.") ||
		p == "/etc/hookback" || strings.HasPrefix(p, "/etc/hookback/")
}

// checkHubFiles adds a finding if a program other than echo names a file of the hub.
func (a *assessor) checkHubFiles(inv *invocation) {
	if inv.name == "echo" || inv.name == "printf" || inv.name == "grep" || inv.name == "rg" {
		return
	}
	for i := range inv.args {
		if isHubFile(inv.args[i].text) {
			a.add(changesHub, inv.span.throughIfShort(inv.args[i].span))
			return
		}
	}
}
