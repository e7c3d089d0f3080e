// Package oversight recognizes commands, paths and routes that decide whether people are asked.
package oversight

import (
	_ "embed"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call/paths"
	"github.com/hookback/hookback/schema"
	"github.com/hookback/hookback/schema/routes"
)

//go:embed settings.txt
var agentSettings string

var (
	// hookFiles are the ends of the paths of files that decide whether agents ask, in lower case.
	hookFiles = []string{"/hookback.json", "/hookback.service", "/dev.hookback.hub.plist"}
	// hookFolders are directories of which every file is one, with a final slash.
	hookFolders []string
	// settingsFolders are the directories of an agent that hold those files.
	settingsFolders = map[string]bool{}
)

func init() {
	for line := range strings.Lines(strings.ToLower(agentSettings)) {
		_, end, ok := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case !ok || strings.HasPrefix(line, "#"):
			continue
		case strings.HasSuffix(end, "/"):
			hookFolders = append(hookFolders, end)
			settingsFolders[strings.TrimSuffix(end, "/")] = true
		default:
			hookFiles = append(hookFiles, end)
		}
		// .github and directories such as opencode, which others have too, hold more than settings.
		for folder := path.Dir(strings.TrimSuffix(end, "/")); len(folder) > 1; folder = path.Dir(folder) {
			if strings.HasPrefix(folder, "/.") && folder != "/.github" {
				settingsFolders[folder] = true
			}
		}
	}
}

// resolve returns the path p relative to dir, in lower case with slashes, because disks of Windows and
// macOS ignore case.
func resolve(dir, p string) string {
	p = paths.Join(dir, strings.ReplaceAll(strings.TrimPrefix(p, "file://"), `\`, "/"))
	if paths.HasDrive(p) {
		p = p[2:]
	}
	p = strings.ToLower("/" + strings.TrimPrefix(p, "/"))
	return strings.TrimRight(strings.TrimSuffix(p, "::$data"), " .") // which Windows ignores
}

// mayName reports whether a word can name one of the files at all. Most words can't, which saves the work.
func mayName(dir, p string) bool {
	return p != "" && len(p) <= paths.MaxLength &&
		(strings.ContainsAny(p, `./\_`) || strings.Contains(p, "sign-in") || strings.Contains(dir, "/.") || strings.Contains(dir, "hook") || strings.Contains(dir, "Hook"))
}

// IsPath reports whether a path, relative to dir, configures an agent's hooks, a policy or the service of
// the hub.
func IsPath(dir, p string) bool {
	if !mayName(dir, p) {
		return false
	}
	if at := strings.LastIndexByte(p, '/') + 1; at > 0 {
		p = p[:at] + variable.ReplaceAllString(p[at:], "*")
	}
	p = resolve(dir, p)
	isPattern := strings.ContainsAny(p, "*?[")
	return slices.ContainsFunc(hookFiles, func(end string) bool {
		matches, _ := path.Match(path.Base(p), end[1:])
		return strings.HasSuffix(p, end) || matches && strings.HasPrefix(path.Base(p), "hook") ||
			isPattern && strings.Count(end, "/") > 1 && matchesEnd(p, end)
	}) ||
		slices.ContainsFunc(hookFolders, func(folder string) bool { return strings.Contains(p, folder) })
}

// variable is one in the name of a file.
var variable = regexp.MustCompile(`\$\{\w+\}|\x00`)

// classPattern is a class such as [[:alpha:]], which path.Match does not know.
var classPattern = regexp.MustCompile(`\[\[:[^\]]*\]+`)

// matchesEnd reports whether a pattern of paths, as a shell reads it, matches the end of a path in a hidden
// directory. Of other directories too many patterns would match, such as */*.json.
func matchesEnd(pattern, end string) bool {
	parts := strings.Split(pattern, "/")
	first := len(parts) - strings.Count(end, "/")
	if first < 0 || end[1] != '.' || !strings.HasPrefix(parts[first], ".") {
		return false
	}
	last := classPattern.ReplaceAllString(strings.Join(parts[first:], "/"), "?")
	ok, _ := path.Match(strings.ReplaceAll(last, "[!", "[^"), end[1:])
	return ok
}

// IsProgramFile reports whether a path is an installed program of Hookback, which hooks run.
func IsProgramFile(p string) bool {
	return Program(p) != "" && path.Base(path.Dir(strings.ReplaceAll(p, `\`, "/"))) == "bin"
}

// maxSettingsDepth is the largest number of segments in settingsFolders.
const maxSettingsDepth = 3

// HoldsSettings reports whether a directory, relative to dir, or its entries are the settings of an agent.
func HoldsSettings(dir, p string) bool {
	if len(p) > paths.MaxLength {
		return false
	}
	if base := path.Base(p); strings.HasPrefix(base, ".") && strings.ContainsAny(base, "*?[") {
		for folder := range settingsFolders {
			if matchesEnd(resolve(dir, p), folder) {
				return true
			}
		}
	}
	p = strings.TrimRight(resolve(dir, strings.TrimRight(p, "*")), "/")
	at := len(p)
	for range maxSettingsDepth {
		if at = strings.LastIndexByte(p[:max(at, 0)], '/'); at >= 0 && settingsFolders[p[at:]] {
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
	text = listPattern.ReplaceAllString(text, "1")
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

// listPattern is a list or a range in an address of curl.
var listPattern = regexp.MustCompile(`\{[^{}/]*\}|\[[^\[\]/:]*\]`)

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

// hubFolders hold the hub's data, what this account trusts and the policy, in lower case.
var hubFolders = []string{
	"/.config/hookback", "/.local/share/hookback", "/.local/state/hookback", "/application support/hookback", "/appdata/local/hookback",
	"/etc/hookback", "/var/lib/hookback", "/run/hookback", "/data/hookback", "_home/hookback", "_home}/hookback",
	"localappdata/hookback", "localappdata%/hookback",
}

// hubPattern is a pattern that matches the name of the hub's directory, in a path.
var hubPattern = regexp.MustCompile(`/hoo[a-z]*[*?][^/]*`)

// IsHubFile reports whether a path, relative to dir, names data of the hub, such as its database, its key
// or a sign-in link, or the hubs that an account trusts. It does not for policies and logs, which may be
// read.
func IsHubFile(dir, p string) bool {
	if !mayName(dir, p) {
		return false
	}
	p = hubPattern.ReplaceAllString(resolve(dir, p), "/hookback")
	base := path.Base(p)
	switch {
	case strings.HasPrefix(p, "/run/user/") && strings.Contains(p, "/hookback"), base == "known_hubs",
		base == "sign-in-link", base == "hookback.db",
		strings.HasPrefix(base, "hookback.db-"), strings.HasPrefix(base, "hookback.db."):
		return true
	case base == "hookback.json", strings.HasSuffix(base, ".log"):
		return false
	}
	return slices.ContainsFunc(hubFolders, func(folder string) bool {
		return strings.HasSuffix(p, folder) || strings.Contains(p, folder+"/")
	})
}
