package install

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/install/jsonc"
)

// httpHookPath is the hub's route for Claude Code's http hooks.
const httpHookPath = "/hooks/claude-code"

// HTTPHook is a group of http hooks in one settings file that post to a hub directly,
// without this program.
type HTTPHook struct {
	File, URL string
	Events    []string
	// NoEntrypoint means that the hook of PermissionRequest does not send the header in which Claude Code reports
	// how it was started, so that its sessions count as ones without a dialog.
	NoEntrypoint bool
	Blocked      string // the setting that prevents Claude Code from calling the URL, or ""
	// NotLoaded and Fix are as in InstalledHooks.
	NotLoaded, Fix string
}

// HTTPHooks returns Claude Code's http hooks that post to a hub. Unreadable files are
// skipped.
func HTTPHooks(m Machine) (all []HTTPHook) {
	a := findAgent("claude-code")
	files := []string{a.managedFile(m)}
	for _, scope := range []Scope{User, Project, Local} {
		files = append(files, a.files[scope].resolve(m))
	}
	allowed := map[string][]string{} // file → its allowedHttpHookUrls
	for _, file := range files {
		b, _, err := readSettings(file)
		if err != nil {
			continue
		}
		d, err := jsonc.Parse(string(b))
		if err != nil {
			continue
		}
		hooks := httpHooksIn(d, file)
		for i := range hooks {
			hooks[i].NotLoaded, hooks[i].Fix = Unloaded(a.name, b)
		}
		all = append(all, hooks...)
		var patterns []string
		if jsonc.Decode(d.Lookup("allowedHttpHookUrls"), &patterns) == nil {
			allowed[file] = patterns
		}
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
func httpHooksIn(d *jsonc.Document, file string) (found []HTTPHook) {
	var events map[string][]struct {
		Hooks []struct {
			Type, URL string
			Headers   map[string]string
		}
	}
	if jsonc.Decode(d.Lookup("hooks"), &events) != nil {
		return nil
	}
	for _, event := range jsonc.Members(d.Lookup("hooks")) {
		for _, group := range events[event.Name] {
			for _, h := range group.Hooks {
				if u, err := url.Parse(h.URL); err != nil || h.Type != "http" || !strings.HasSuffix(u.Path, httpHookPath) {
					continue
				}
				i := slices.IndexFunc(found, func(known HTTPHook) bool { return known.URL == h.URL })
				if i < 0 {
					i, found = len(found), append(found, HTTPHook{File: file, URL: h.URL})
				}
				found[i].NoEntrypoint = found[i].NoEntrypoint || event.Name == "PermissionRequest" && h.Headers[hook.ClaudeEntrypointHeader] == ""
				found[i].Events = append(found[i].Events, event.Name)
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
