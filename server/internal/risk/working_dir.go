package risk

import (
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/server/internal/risk/paths"
)

// classifyWord classifies the path in w, relative to dir.
func (a *assessor) classifyWord(dir string, w *call.Word) paths.Class {
	text := paths.ToSlashes(w.Text)
	switch {
	case w.Subs != (call.Range{}):
		return paths.Unknown
	case len(w.Vars) > 0 && strings.Contains(text, call.Expansion):
		return a.classifyVariable(dir, w)
	case w.Dynamic:
		return paths.Unknown
	case strings.HasPrefix(text, "~"): // also "$HOME"
		if text != "~" && text[1] != '/' { // another user's home
			return paths.Outside
		}
		return a.ClassifyHome(text[1:])
	}
	return a.Classify(dir, text)
}

// classifyVariable classifies a path that contains a variable.
func (a *assessor) classifyVariable(dir string, w *call.Word) paths.Class {
	v := w.Vars[0]
	if at := strings.Index(w.Text, call.Expansion); at > 0 { // the part before the variable decides
		if to := strings.LastIndexByte(w.Text[:at], '/'); to > 0 {
			return max(a.Classify(dir, w.Text[:to]), paths.Unknown)
		}
		return paths.Unknown
	}
	_, rest, ok := strings.Cut(w.Text, "/")
	switch v.Name {
	case "USERPROFILE":
		return a.ClassifyHome(rest)
	case "PWD", "CLAUDE_PROJECT_DIR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE":
		return a.Classify(a.CWD, "./"+rest)
	case "TMPDIR", "TMP", "TEMP", "RUNNER_TEMP":
		return paths.Temporary
	}
	switch {
	case !v.MayBeEmpty || v.IsAssigned || a.assigned[v.Name]:
		return paths.Unknown
	case ok && strings.Trim(rest, "*./") == "":
		return paths.Protected // "$X/" is the root if X is empty
	default:
		return paths.Unset
	}
}
