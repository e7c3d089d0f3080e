package risk

import (
	"path"
	"strings"
)

// workingDir is the directory that a call runs in.
type workingDir struct {
	cwd  string // absolute, with slashes; empty if unknown
	home string // derived from cwd; empty if unknown
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

// toSlashes replaces the backslashes of a Windows path. It returns other paths unchanged.
func toSlashes(p string) string {
	if drive := len(p) >= 2 && p[1] == ':' && isLetter(p[0]); drive || strings.HasPrefix(p, `..\`) || strings.HasPrefix(p, `\\`) {
		return strings.ReplaceAll(p, `\`, "/")
	}
	return p
}

func isAbsolute(p string) bool {
	return strings.HasPrefix(p, "/") || len(p) >= 3 && p[1] == ':' && p[2] == '/' && isLetter(p[0])
}

// pathClass classifies the target of a path. A higher class is worse.
type pathClass int

const (
	insidePath    pathClass = iota // below the working directory
	cwdPath                        // the working directory itself
	temporaryPath                  // a temporary directory
	unknownPath                    // known only at run time
	unsetPath                      // starts with a variable that may be empty
	outsidePath                    // elsewhere
	autorunPath                    // a file that runs automatically later
	systemPath                     // part of the operating system
	protectedPath                  // the root, a home directory or a parent of the working directory
)

// currentDir returns the directory that a command runs in, or an empty string if it is unknown.
func (a *assessor) currentDir(s *scope) string {
	if s == nil {
		return a.cwd
	}
	if !s.resolved {
		s.resolved, s.dir = true, a.currentDir(s.parent)
	}
	return s.dir
}

// classifyWord classifies the path in w, relative to dir.
func (a *assessor) classifyWord(dir string, w *shellWord) pathClass {
	text := toSlashes(w.text)
	if len(w.subs) > 0 {
		return unknownPath
	}
	if len(w.vars) > 0 && strings.Contains(text, "$") {
		return a.classifyVariable(dir, w)
	}
	if w.bare && strings.HasPrefix(text, "~") {
		if text != "~" && text[1] != '/' { // another user's home
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

// classifyVariable classifies a path that contains a variable.
func (a *assessor) classifyVariable(dir string, w *shellWord) pathClass {
	v := w.vars[0]
	if at := strings.IndexByte(w.text, '$'); at > 0 { // the part before the variable decides
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
		return protectedPath // "$X/" is the root if X is empty
	default:
		return unsetPath
	}
}

func (a *assessor) classifyPath(dir, p string) pathClass {
	p = strings.TrimPrefix(p, "file://")
	glob := false
	for p != "" && p[len(p)-1] == '*' { // all entries of a directory count as the directory
		glob = true
		p = strings.TrimSuffix(strings.TrimRight(p, "*"), ".")
		if i := strings.LastIndexByte(p, '/'); i < len(p)-1 {
			p = p[:i+1] // a* matches only some entries of the directory
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

// classifyRelative classifies a relative path whose base is unknown.
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

// isAutorun reports whether a file runs automatically or grants someone access.
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
