// Package paths classifies paths of tool calls by what lies there. It does no I/O.
package paths

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// MaxLength is longer than any path that a system can open or execute.
const MaxLength = 4 << 10

// WorkingDir is the directory that a call runs in.
type WorkingDir struct {
	CWD  string // absolute, with slashes; empty if unknown
	Home string // derived from cwd; empty if unknown
}

// NewWorkingDir returns the working directory cwd and the home directory that its path implies.
// A relative path is unknown.
func NewWorkingDir(cwd string) WorkingDir {
	p := WorkingDir{}
	if cwd = Join("", cwd); IsAbsolute(cwd) {
		p.CWD = cwd
	}
	parts := strings.SplitN(p.CWD, "/", 4)
	if len(parts) >= 3 && (parts[1] == "home" || strings.EqualFold(parts[1], "Users")) {
		p.Home = strings.Join(parts[:3], "/")
	} else if len(parts) >= 2 && parts[1] == "root" {
		p.Home = "/root"
	}
	return p
}

// HasDrive reports whether a path begins with a drive of Windows.
func HasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z'
}

// IsWindows reports whether an absolute path with slashes is one of Windows.
func IsWindows(p string) bool { return HasDrive(p) || strings.HasPrefix(p, "//") }

// ToSlashes replaces the backslashes of a Windows path. It returns other paths unchanged.
func ToSlashes(p string) string {
	if HasDrive(p) || strings.HasPrefix(p, `..\`) || strings.HasPrefix(p, `\\`) {
		return strings.ReplaceAll(p, `\`, "/")
	}
	return p
}

// IsAbsolute reports whether a path with slashes is absolute on Unix or Windows. C:x is: its directory is not
// the one of the call.
func IsAbsolute(p string) bool { return strings.HasPrefix(p, "/") || HasDrive(p) }

// Join returns a clean path with slashes, relative to a directory, which is empty if it is unknown.
func Join(dir, p string) string {
	if dir = ToSlashes(dir); IsWindows(dir) {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	if p = ToSlashes(p); dir != "" && !IsAbsolute(p) {
		p = dir + "/" + p
	}
	if HasDrive(p) && strings.HasPrefix(p[2:], "/") { // .. does not leave the drive
		return p[:2] + strings.TrimSuffix(path.Clean(p[2:]), "/")
	}
	return path.Clean(p)
}

// IsWithin reports whether a clean path is the folder or inside of it.
func IsWithin(p, folder string) bool {
	return p == folder || folder != "" && strings.HasPrefix(p, strings.TrimSuffix(folder, "/")+"/")
}

// Class classifies the target of a path. A higher class is worse.
type Class int

const (
	Inside    Class = iota // below the working directory
	CWD                    // the working directory itself
	Temporary              // a temporary directory
	Unknown                // known only at run time
	Unset                  // starts with a variable that may be empty
	Outside                // elsewhere
	Autorun                // a file that runs automatically later
	System                 // part of the operating system
	Protected              // the root, a home directory or a parent of the working directory
)

// ClassifyHome classifies a path below the home directory, which begins with a slash or is empty.
func (d WorkingDir) ClassifyHome(rest string) Class {
	switch {
	case strings.Trim(rest, "/*.") == "":
		return Protected
	case d.Home != "":
		return d.Classify("", d.Home+"/"+rest)
	case isAutorun("/" + rest):
		return Autorun
	default:
		return Outside
	}
}

// Classify classifies the path p relative to dir, which is empty if it is unknown. A pattern that
// ends with an asterisk counts as its directory.
func (d WorkingDir) Classify(dir, p string) Class {
	p = strings.TrimPrefix(p, "file://")
	glob := false
	for p != "" && p[len(p)-1] == '*' { // all entries of a directory count as the directory
		glob = true
		p = strings.TrimSuffix(strings.TrimRight(p, "*"), ".")
		if i := strings.LastIndexByte(p, '/'); i < len(p)-1 {
			p = p[:i+1] // a* matches only some entries of the directory
			if strings.TrimSuffix(p, "/") == "" && i < 0 {
				return Inside
			}
			return max(d.Classify(dir, p+"x"), Inside)
		}
		p = cmp.Or(p, ".")
	}
	if glob && p == "." && dir == "" && d.CWD == "" {
		return CWD
	}
	if dir == "" && !IsAbsolute(p) {
		return classifyRelative(p)
	}
	return d.classifyAbsolute(Join(dir, p))
}

// classifyRelative classifies a relative path whose base is unknown.
func classifyRelative(p string) Class {
	switch p = path.Clean(p); {
	case p == ".":
		return CWD
	case p == ".." || strings.HasSuffix(p, "/.."):
		return Protected
	case strings.HasPrefix(p, "../"):
		return Outside
	default:
		return Inside
	}
}

func (d WorkingDir) classifyAbsolute(p string) Class {
	switch {
	case p == "/" || len(p) == 2 && HasDrive(p) || p == d.Home:
		return Protected
	case p == d.CWD:
		return CWD
	case d.CWD != "" && IsWithin(p, d.CWD):
		return Inside
	case d.CWD != "" && IsWithin(d.CWD, p):
		return Protected
	case isAutorun(p):
		return Autorun
	case isTemporary(p):
		return Temporary
	case isSystem(p):
		if strings.Count(p, "/") == 1 {
			return Protected
		}
		return System
	case p == "/home" || p == "/Users" || p == "/root":
		return Protected
	case d.CWD == "":
		return Unknown
	default:
		return Outside
	}
}

func isTemporary(p string) bool {
	for _, t := range []string{"/tmp", "/var/tmp", "/private/tmp", "/var/folders", "/dev/shm", "/dev/fd"} {
		if IsWithin(p, t) {
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
		if IsWithin(p, t) {
			return t != "/usr" || !strings.HasPrefix(p, "/usr/local/src/")
		}
	}
	return false
}

// isAutorun reports whether a file runs automatically or grants someone access.
func isAutorun(p string) bool {
	switch base := path.Base(p); base {
	case ".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile", ".bash_login", "config.fish", "authorized_keys",
		".bash_aliases", ".bash_logout", ".zlogin", ".xprofile", ".xinitrc", ".xsessionrc", ".pam_environment", ".vimrc", ".tmux.conf", ".gdbinit",
		".gitconfig", ".npmrc", ".pypirc", "crontab", "sudoers", "rc.local", "ld.so.preload":
		return true
	}
	for _, part := range []string{"/.ssh/", "/cron.d/", "/systemd/", "/LaunchAgents/", "/LaunchDaemons/", "/autostart/", "/Start Menu/Programs/Startup/", "/profile.d/", "/.git/hooks/",
		"/git/hooks/", "/fish/conf.d/", "/environment.d/", "/nvim/init.", "/.cargo/config"} {
		if strings.Contains(p, part) {
			return true
		}
	}
	return false
}

// IsDevice reports whether a path names a disk device.
func IsDevice(p string) bool {
	name, ok := strings.CutPrefix(p, "/dev/")
	if !ok {
		return strings.HasPrefix(p, `\\.\PhysicalDrive`)
	}
	for _, disk := range []string{"sd", "hd", "vd", "xvd", "nvme", "disk", "rdisk", "mmcblk", "mapper/", "md"} {
		if strings.HasPrefix(name, disk) {
			return true
		}
	}
	return false
}

// RunsLaterFile reports whether tools run commands that a file with this path holds.
func RunsLaterFile(dir, p string) bool {
	if p = Join(dir, strings.TrimPrefix(p, "file://")); HasDrive(p) {
		p = p[2:]
	}
	p = strings.ToLower("/" + strings.TrimPrefix(p, "/")) // disks of Windows and macOS ignore case
	if at := strings.LastIndex(p, "/.git/"); at >= 0 {
		return slices.ContainsFunc(gitFiles, func(name string) bool { return strings.Contains(p[at+len("/.git"):]+"/", name) })
	}
	return slices.Contains([]string{".envrc", ".git", ".pre-commit-config.yaml", "lefthook.yml"}, path.Base(p)) || strings.HasSuffix(p, "/.vscode/tasks.json") ||
		strings.HasSuffix(p, "/.mcp.json") || strings.Contains(p, "/.claude/hooks/") || strings.Contains(p, "/.husky/")
}

// IsRepositoryFile reports whether a file is part of a git repository by its name, HEAD or config. In a
// directory with HEAD, objects and refs git runs the programs that config names.
func IsRepositoryFile(p string) bool {
	p = strings.ToLower("/" + ToSlashes(p))
	return strings.HasSuffix(p, "/head") && !strings.HasSuffix(p, "/.git/head") || strings.HasSuffix(p, "/config")
}

// RepositoryFolder returns the directory that gets a folder objects or refs if p is created, and the name
// of the folder. Both are empty if there is none, or if the directory is a .git.
func RepositoryFolder(dir, p string) (parent, name string) {
	parts := strings.Split(Join(dir, p), "/")
	for i, part := range parts {
		if (part == "objects" || part == "refs") && (i == 0 || parts[i-1] != ".git") {
			return strings.Join(parts[:i], "/"), part
		}
	}
	return "", ""
}

// gitFiles are parts of paths in .git that hold settings or commands, or name a directory that does.
var gitFiles = []string{"/config/", "/config.worktree/", "/hooks/", "/commondir/", "/info/attributes/"}

// packageScripts are the member names of package.json that hold commands.
var packageScripts = []string{
	"scripts", "preinstall", "install", "postinstall", "prepare", "prepublish", "prepublishOnly", "prepack", "postpack", "pretest",
	"test", "posttest", "prebuild", "build", "postbuild", "prestart", "start", "dev", "lint",
}

// ChangesScripts reports whether text sets a member of package.json that holds commands.
func ChangesScripts(text string) bool {
	return slices.ContainsFunc(packageScripts, func(name string) bool {
		_, after, ok := strings.Cut(text, `"`+name+`"`)
		return ok && strings.HasPrefix(strings.TrimLeft(after, " \t"), ":")
	})
}

// IsPackageFile reports whether a path names a package.json.
func IsPackageFile(p string) bool { return path.Base(ToSlashes(p)) == "package.json" }
