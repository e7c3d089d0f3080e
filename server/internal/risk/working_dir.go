package risk

import (
	"path"
	"strings"
)

// workingDir is where a call runs.
type workingDir struct {
	cwd  string // absolute, with slashes; empty: not known
	home string // as far as cwd tells it
}

func newWorkingDir(cwd string) workingDir {
	p := workingDir{}
	if cwd = toSlashes(cwd); isAbsolute(cwd) {
		p.cwd = path.Clean(cwd)
	}
	parts := strings.SplitN(p.cwd, "/", 4)
	if len(parts) >= 3 && (parts[1] == "home" || strings.EqualFold(parts[1], "Users")) {
		p.home = strings.Join(parts[:3], "/")
	} else if len(parts) >= 2 && parts[1] == "root" {
		p.home = "/root"
	}
	return p
}

// toSlashes spells a path of Windows with slashes; others stay as they are.
func toSlashes(p string) string {
	if drive := len(p) >= 2 && p[1] == ':' && isLetter(p[0]); drive || strings.HasPrefix(p, `..\`) || strings.HasPrefix(p, `\\`) {
		return strings.ReplaceAll(p, `\`, "/")
	}
	return p
}

func isAbsolute(p string) bool {
	return strings.HasPrefix(p, "/") || len(p) >= 3 && p[1] == ':' && p[2] == '/' && isLetter(p[0])
}

// pathClass says what a path leads to.
type pathClass int

const (
	insidePath    pathClass = iota // inside the working folder
	cwdPath                        // the working folder itself
	temporaryPath                  // where anyone's leftovers are
	unknownPath                    // nobody can tell before it runs
	unsetPath                      // a variable that may be empty
	outsidePath                    // elsewhere
	autorunPath                    // a file that runs by itself later
	systemPath                     // of the operating system
	protectedPath                  // the root, a home, what contains the working folder
)

// currentDir is the folder a command runs in; empty when that can't be told.
func (a *assessor) currentDir(s *scope) string {
	if s == nil {
		return a.cwd
	}
	if !s.resolved {
		s.resolved, s.dir = true, a.currentDir(s.parent)
	}
	return s.dir
}

// classifyWord says where the path in w leads, seen from dir.
func (a *assessor) classifyWord(dir string, w *shellWord) pathClass {
	text := toSlashes(w.text)
	if len(w.subs) > 0 {
		return unknownPath
	}
	if len(w.vars) > 0 && strings.Contains(text, "$") {
		return a.classifyVariable(dir, w)
	}
	if w.bare && strings.HasPrefix(text, "~") {
		if text != "~" && text[1] != '/' { // somebody else's
			return outsidePath
		}
		return a.classifyHome(text[1:])
	}
	return a.classifyPath(dir, text)
}

func (a *assessor) classifyHome(rest string) pathClass {
	switch {
	case strings.Trim(rest, "/*.") == "":
		return protectedPath
	case a.home != "":
		return a.classifyPath("", a.home+"/"+rest)
	case isAutorun("/" + rest):
		return autorunPath
	default:
		return outsidePath
	}
}

// classifyVariable looks at a path that begins with, or contains, a variable.
func (a *assessor) classifyVariable(dir string, w *shellWord) pathClass {
	v := w.vars[0]
	if at := strings.IndexByte(w.text, '$'); at > 0 { // what stands before it says most
		if to := strings.LastIndexByte(w.text[:at], '/'); to > 0 {
			return max(a.classifyPath(dir, w.text[:to]), unknownPath)
		}
		return unknownPath
	}
	_, rest, ok := strings.Cut(w.text, "/")
	switch v.name {
	case "HOME", "USERPROFILE":
		return a.classifyHome(rest)
	case "PWD", "CLAUDE_PROJECT_DIR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE":
		return a.classifyPath(a.cwd, "./"+rest)
	case "TMPDIR", "TMP", "TEMP", "RUNNER_TEMP":
		return temporaryPath
	}
	switch {
	case v.guarded || a.assigned[v.name]:
		return unknownPath
	case ok && strings.Trim(rest, "*./") == "":
		return protectedPath // "$X/" is the root when X is empty
	default:
		return unsetPath
	}
}

func (a *assessor) classifyPath(dir, p string) pathClass {
	p = strings.TrimPrefix(p, "file://")
	glob := false
	for p != "" && p[len(p)-1] == '*' { // what is in a folder stands for the folder
		glob = true
		p = strings.TrimSuffix(strings.TrimRight(p, "*"), ".")
		if i := strings.LastIndexByte(p, '/'); i < len(p)-1 {
			p = p[:i+1] // a* is not all of the folder
			if strings.TrimSuffix(p, "/") == "" && i < 0 {
				return insidePath
			}
			return max(a.classifyPath(dir, p+"x"), insidePath)
		}
		if p == "" {
			p = "."
		}
	}
	if glob && p == "." && dir == "" && a.cwd == "" {
		return cwdPath
	}
	if !isAbsolute(p) {
		if dir == "" {
			return classifyRelative(p)
		}
		p = path.Join(dir, p)
	}
	return a.classifyAbsolute(path.Clean(p))
}

// classifyRelative is for a path of which nobody knows what it is relative to.
func classifyRelative(p string) pathClass {
	switch p = path.Clean(p); {
	case p == ".":
		return cwdPath
	case p == ".." || strings.HasSuffix(p, "/.."):
		return protectedPath
	case strings.HasPrefix(p, "../"):
		return outsidePath
	default:
		return insidePath
	}
}

func (a *assessor) classifyAbsolute(p string) pathClass {
	switch {
	case p == "/" || len(p) <= 3 && strings.HasSuffix(p, ":/") || p == a.home:
		return protectedPath
	case p == a.cwd:
		return cwdPath
	case a.cwd != "" && isUnder(p, a.cwd):
		return insidePath
	case a.cwd != "" && isUnder(a.cwd, p):
		return protectedPath
	case isAutorun(p):
		return autorunPath
	case isTemporary(p):
		return temporaryPath
	case isSystem(p):
		if strings.Count(p, "/") == 1 {
			return protectedPath
		}
		return systemPath
	case p == "/home" || p == "/Users" || p == "/root":
		return protectedPath
	case a.cwd == "":
		return unknownPath
	default:
		return outsidePath
	}
}

func isUnder(p, folder string) bool {
	return len(p) > len(folder) && strings.HasPrefix(p, folder) && (p[len(folder)] == '/' || folder[len(folder)-1] == '/')
}

func isTemporary(p string) bool {
	for _, t := range []string{"/tmp", "/var/tmp", "/private/tmp", "/var/folders", "/dev/shm", "/dev/fd"} {
		if p == t || isUnder(p, t) {
			return true
		}
	}
	return p == "/dev/null" || p == "/dev/stdout" || p == "/dev/stderr" || p == "/dev/tty" || strings.EqualFold(p, "NUL")
}

func isSystem(p string) bool {
	for _, t := range []string{
		"/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/var", "/opt", "/sys", "/proc", "/dev", "/System", "/Library", "/Applications",
		"C:/Windows", "C:/Program Files", "C:/Program Files (x86)", "C:/ProgramData",
	} {
		if p == t || isUnder(p, t) {
			return t != "/usr" || !isUnder(p, "/usr/local/src")
		}
	}
	return false
}

// isAutorun reports whether a file runs, or lets someone in, without being asked.
func isAutorun(p string) bool {
	switch base := path.Base(p); base {
	case ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile", ".bash_login", "config.fish", "authorized_keys",
		".gitconfig", ".npmrc", ".pypirc", "crontab", "sudoers", "rc.local", "ld.so.preload":
		return true
	}
	for _, part := range []string{"/.ssh/", "/cron.d/", "/systemd/", "/LaunchAgents/", "/LaunchDaemons/", "/autostart/", "/Start Menu/Programs/Startup/", "/profile.d/", "/.git/hooks/"} {
		if strings.Contains(p, part) {
			return true
		}
	}
	return false
}
