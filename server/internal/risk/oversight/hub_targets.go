// Package oversight recognizes paths and routes that decide whether people are asked.
package oversight

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
	"github.com/hookback/hookback/server/internal/risk/paths"
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

// IsPath reports whether a path, relative to dir, configures an agent's hooks or a policy.
func IsPath(dir, p string) bool {
	if p = paths.ToSlashes(strings.TrimPrefix(p, "file://")); !paths.IsAbsolute(p) {
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

// NamesHubRoute reports whether text contains the path of a route that answers or manages requests.
// A path that reads with GET counts only if the call may change something.
func NamesHubRoute(text string, changes bool) bool {
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

// MayChange reports whether the words of a request name a method that changes something.
func MayChange(text string) bool {
	upper := strings.ToUpper(text[:min(len(text), paths.MaxLength)])
	return strings.Contains(upper, "POST") || strings.Contains(upper, "DELETE") || namesPut(upper)
}

// namesPut reports whether text has the word PUT, not only as a part of INPUT or OUTPUT. curl also
// takes -XPUT.
func namesPut(upper string) bool {
	for {
		before, after, found := strings.Cut(upper, "PUT")
		if !found {
			return false
		}
		begins := before == "" || strings.HasSuffix(before, "-X") || !isLetter(before[len(before)-1])
		if begins && (after == "" || !isLetter(after[0])) {
			return true
		}
		upper = after
	}
}

func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' }

// IsHubFile reports whether a path names the hub's database or key, or the hubs that an account
// trusts.
func IsHubFile(p string) bool {
	if !strings.Contains(p, "hook") && !strings.Contains(p, "known_hubs") {
		return false
	}
	p = path.Clean(paths.ToSlashes(strings.TrimPrefix(p, "file://")))
	base := path.Base(p)
	return base == "known_hubs" || base == "hookback.db" || strings.HasPrefix(base, "hookback.db-") || strings.HasPrefix(base, "hookback.db.") ||
		p == "/etc/hookback" || strings.HasPrefix(p, "/etc/hookback/")
}
