package install

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// httpHookPath is the hub's route for Claude Code's http hooks.
const httpHookPath = "/hooks/claude-code"

// HTTPHook is a group of http hooks in one settings file that post to a hub directly,
// without this program.
type HTTPHook struct {
	File, URL string
	Events    []string
	Blocked   string // the setting that prevents Claude Code from calling the URL, or ""
}

// HTTPHooks returns Claude Code's http hooks that post to a hub. Unreadable files are
// skipped.
func HTTPHooks(m Machine) (all []HTTPHook) {
	a := findAgent("claude-code")
	files := []string{"/etc/claude-code/managed-settings.json"}
	for _, scope := range []Scope{User, Project, Local} {
		files = append(files, a.files[scope].resolve(m))
	}
	allowed := map[string][]string{} // file → its allowedHttpHookUrls
	for _, file := range files {
		b, _, err := readSettings(file)
		if err != nil {
			continue
		}
		d, err := parse(string(b))
		if err != nil {
			continue
		}
		var patterns []string
		if decode(d.lookup("allowedHttpHookUrls"), &patterns) == nil {
			allowed[file] = patterns
		}
		all = append(all, httpHooksIn(d, file)...)
	}
	for i := range all {
		for _, file := range files {
			if patterns, limits := allowed[file]; limits && all[i].Blocked == "" && !matchesAny(patterns, all[i].URL) {
				all[i].Blocked = "allowedHttpHookUrls in " + file
			}
		}
	}
	return all
}

// httpHooksIn returns the http hooks of one file, grouped by URL.
func httpHooksIn(d *document, file string) (found []HTTPHook) {
	var events map[string][]struct {
		Hooks []struct{ Type, URL string }
	}
	if decode(d.lookup("hooks"), &events) != nil {
		return nil
	}
	for _, event := range members(d.lookup("hooks")) {
		for _, group := range events[event.name] {
			for _, h := range group.Hooks {
				if u, err := url.Parse(h.URL); err != nil || h.Type != "http" || !strings.HasSuffix(u.Path, httpHookPath) {
					continue
				}
				i := slices.IndexFunc(found, func(hook HTTPHook) bool { return hook.URL == h.URL })
				if i < 0 {
					i, found = len(found), append(found, HTTPHook{File: file, URL: h.URL})
				}
				found[i].Events = append(found[i].Events, event.name)
			}
		}
	}
	return found
}

// matchesAny reports whether a pattern matches the address. Like in Claude Code, *
// matches any text.
func matchesAny(patterns []string, address string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		re, err := regexp.Compile("^" + strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*") + "$")
		return err == nil && re.MatchString(address)
	})
}
