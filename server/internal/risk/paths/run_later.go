package paths

import (
	"path"
	"slices"
	"strings"
)

// RunsLaterFile reports whether tools run commands that a file with this path holds.
func RunsLaterFile(dir, p string) bool {
	if p = ToSlashes(strings.TrimPrefix(p, "file://")); !IsAbsolute(p) {
		p = path.Join(dir, p)
	}
	p = strings.ToLower("/" + strings.TrimPrefix(path.Clean(p), "/")) // disks of Windows and macOS ignore case
	if at := strings.LastIndex(p, "/.git/"); at >= 0 {
		return slices.ContainsFunc(gitFiles, func(name string) bool { return strings.Contains(p[at+len("/.git"):]+"/", name) })
	}
	return slices.Contains([]string{".envrc", ".git"}, path.Base(p)) || strings.HasSuffix(p, "/.vscode/tasks.json") || strings.Contains(p, "/.husky/")
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
	if p = ToSlashes(p); !IsAbsolute(p) {
		p = path.Join(dir, p)
	}
	parts := strings.Split(path.Clean(p), "/")
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
var packageScripts = strings.Fields(`"scripts" "preinstall" "install" "postinstall" "prepare" "prepublish" "prepublishOnly" "prepack" "postpack" "pretest" "test" "posttest"
	"prebuild" "build" "postbuild" "prestart" "start" "dev" "lint"`)

// ChangesScripts reports whether text sets a member of package.json that holds commands.
func ChangesScripts(text string) bool {
	return slices.ContainsFunc(packageScripts, func(name string) bool {
		_, after, ok := strings.Cut(text, name)
		return ok && strings.HasPrefix(strings.TrimLeft(after, " \t"), ":")
	})
}

// IsPackageFile reports whether a path names a package.json.
func IsPackageFile(p string) bool { return path.Base(ToSlashes(p)) == "package.json" }
