package risk

import (
	"strings"

	"github.com/hookback/hookback/server/internal/risk/paths"
	"github.com/hookback/hookback/server/internal/risk/shell"
)

// currentDir returns the directory that a command runs in, or an empty string if it is unknown.
func (a *assessor) currentDir(s *shell.Scope) string {
	if s == nil {
		return a.CWD
	}
	if !s.Resolved {
		s.Resolved, s.Dir = true, a.currentDir(s.Parent)
	}
	return s.Dir
}

// classifyWord classifies the path in w, relative to dir.
func (a *assessor) classifyWord(dir string, w *shell.Word) paths.Class {
	text := paths.ToSlashes(w.Text)
	if len(w.Subs) > 0 {
		return paths.Unknown
	}
	if len(w.Vars) > 0 && strings.Contains(text, "$") {
		return a.classifyVariable(dir, w)
	}
	if w.Bare && strings.HasPrefix(text, "~") {
		if text != "~" && text[1] != '/' { // another user's home
			return paths.Outside
		}
		return a.ClassifyHome(text[1:])
	}
	return a.Classify(dir, text)
}

// classifyVariable classifies a path that contains a variable.
func (a *assessor) classifyVariable(dir string, w *shell.Word) paths.Class {
	v := w.Vars[0]
	if at := strings.IndexByte(w.Text, '$'); at > 0 { // the part before the variable decides
		if to := strings.LastIndexByte(w.Text[:at], '/'); to > 0 {
			return max(a.Classify(dir, w.Text[:to]), paths.Unknown)
		}
		return paths.Unknown
	}
	_, rest, ok := strings.Cut(w.Text, "/")
	switch v.Name {
	case "HOME", "USERPROFILE":
		return a.ClassifyHome(rest)
	case "PWD", "CLAUDE_PROJECT_DIR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE":
		return a.Classify(a.CWD, "./"+rest)
	case "TMPDIR", "TMP", "TEMP", "RUNNER_TEMP":
		return paths.Temporary
	}
	switch {
	case v.Guarded || a.assigned[v.Name]:
		return paths.Unknown
	case ok && strings.Trim(rest, "*./") == "":
		return paths.Protected // "$X/" is the root if X is empty
	default:
		return paths.Unset
	}
}
