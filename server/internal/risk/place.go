package risk

import (
	"path"
	"strings"
)

// place is where a call runs.
type place struct {
	cwd  string // absolute, with slashes; empty: not known
	home string // as far as cwd tells it
}

func newPlace(cwd string) place {
	p := place{}
	if cwd = slashes(cwd); isAbsolute(cwd) {
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

// slashes spells a path of Windows with slashes; others stay as they are.
func slashes(p string) string {
	if drive := len(p) >= 2 && p[1] == ':' && isLetter(p[0]); drive || strings.HasPrefix(p, `..\`) || strings.HasPrefix(p, `\\`) {
		return strings.ReplaceAll(p, `\`, "/")
	}
	return p
}

func isAbsolute(p string) bool {
	return strings.HasPrefix(p, "/") || len(p) >= 3 && p[1] == ':' && p[2] == '/' && isLetter(p[0])
}

// where says what a path leads to.
type where int

const (
	within    where = iota // inside the working folder
	all                    // the working folder itself
	temporary              // where anyone's leftovers are
	unknown                // nobody can tell before it runs
	unset                  // a variable that may be empty
	outside                // elsewhere
	startup                // a file that runs by itself later
	system                 // of the operating system
	vital                  // the root, a home, what contains the working folder
)

// current is the folder a command runs in; empty when that can't be told.
func (j *judge) current(s *scope) string {
	if s == nil {
		return j.cwd
	}
	if !s.entered {
		s.entered, s.dir = true, j.current(s.parent)
	}
	return s.dir
}

// locate says where the path in w leads, seen from dir.
func (j *judge) locate(dir string, w *word) where {
	text := slashes(w.text)
	if len(w.subs) > 0 {
		return unknown
	}
	if len(w.vars) > 0 && strings.Contains(text, "$") {
		return j.locateVariable(dir, w)
	}
	if w.bare && strings.HasPrefix(text, "~") {
		if text != "~" && text[1] != '/' { // somebody else's
			return outside
		}
		return j.locateHome(text[1:])
	}
	return j.locatePath(dir, text)
}

func (j *judge) locateHome(rest string) where {
	switch {
	case strings.Trim(rest, "/*.") == "":
		return vital
	case j.home != "":
		return j.locatePath("", j.home+"/"+rest)
	case isStartup("/" + rest):
		return startup
	default:
		return outside
	}
}

// locateVariable looks at a path that begins with, or contains, a variable.
func (j *judge) locateVariable(dir string, w *word) where {
	v := w.vars[0]
	if at := strings.IndexByte(w.text, '$'); at > 0 { // what stands before it says most
		if to := strings.LastIndexByte(w.text[:at], '/'); to > 0 {
			return max(j.locatePath(dir, w.text[:to]), unknown)
		}
		return unknown
	}
	_, rest, ok := strings.Cut(w.text, "/")
	switch v.name {
	case "HOME", "USERPROFILE":
		return j.locateHome(rest)
	case "PWD", "CLAUDE_PROJECT_DIR", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE":
		return j.locatePath(j.cwd, "./"+rest)
	case "TMPDIR", "TMP", "TEMP", "RUNNER_TEMP":
		return temporary
	}
	switch {
	case v.guarded || j.assigned[v.name]:
		return unknown
	case ok && strings.Trim(rest, "*./") == "":
		return vital // "$X/" is the root when X is empty
	default:
		return unset
	}
}

func (j *judge) locatePath(dir, p string) where {
	p = strings.TrimPrefix(p, "file://")
	glob := false
	for p != "" && p[len(p)-1] == '*' { // what is in a folder stands for the folder
		glob = true
		p = strings.TrimSuffix(strings.TrimRight(p, "*"), ".")
		if i := strings.LastIndexByte(p, '/'); i < len(p)-1 {
			p = p[:i+1] // a* is not all of the folder
			if strings.TrimSuffix(p, "/") == "" && i < 0 {
				return within
			}
			return max(j.locatePath(dir, p+"x"), within)
		}
		if p == "" {
			p = "."
		}
	}
	if glob && p == "." && dir == "" && j.cwd == "" {
		return all
	}
	if !isAbsolute(p) {
		if dir == "" {
			return relative(p)
		}
		p = path.Join(dir, p)
	}
	return j.locateAbsolute(path.Clean(p))
}

// relative is for a path of which nobody knows what it is relative to.
func relative(p string) where {
	switch p = path.Clean(p); {
	case p == ".":
		return all
	case p == ".." || strings.HasSuffix(p, "/.."):
		return vital
	case strings.HasPrefix(p, "../"):
		return outside
	default:
		return within
	}
}

func (j *judge) locateAbsolute(p string) where {
	switch {
	case p == "/" || len(p) <= 3 && strings.HasSuffix(p, ":/") || p == j.home:
		return vital
	case p == j.cwd:
		return all
	case j.cwd != "" && isUnder(p, j.cwd):
		return within
	case j.cwd != "" && isUnder(j.cwd, p):
		return vital
	case isStartup(p):
		return startup
	case isTemporary(p):
		return temporary
	case isSystem(p):
		if strings.Count(p, "/") == 1 {
			return vital
		}
		return system
	case p == "/home" || p == "/Users" || p == "/root":
		return vital
	case j.cwd == "":
		return unknown
	default:
		return outside
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

// isStartup reports whether a file runs, or lets someone in, without being asked.
func isStartup(p string) bool {
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
