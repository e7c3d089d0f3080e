package risk

import (
	"path"
	"slices"
	"strings"
)

// runsLaterFile reports whether tools run commands that a file with this path holds.
func runsLaterFile(dir, p string) bool {
	if p = toSlashes(strings.TrimPrefix(p, "file://")); !isAbsolute(p) {
		p = path.Join(dir, p)
	}
	p = "/" + strings.TrimPrefix(path.Clean(p), "/")
	return path.Base(p) == ".envrc" || strings.HasSuffix(p, "/.git/config") || strings.Contains(p, "/.git/hooks/") || strings.HasSuffix(p, "/.vscode/tasks.json")
}

// packageScripts are the member names of package.json that hold commands.
var packageScripts = strings.Fields(`"scripts" "preinstall" "install" "postinstall" "prepare" "prepublish" "prepublishOnly" "prepack" "postpack" "pretest" "test" "posttest"
	"prebuild" "build" "postbuild" "prestart" "start" "dev" "lint"`)

func changesScripts(text string) bool {
	return slices.ContainsFunc(packageScripts, func(name string) bool {
		_, after, ok := strings.Cut(text, name)
		return ok && strings.HasPrefix(strings.TrimLeft(after, " \t"), ":")
	})
}

// isPackageFile reports whether a path names a package.json.
func isPackageFile(p string) bool { return path.Base(toSlashes(p)) == "package.json" }
