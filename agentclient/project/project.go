// Package project finds the project of a directory. Agents name their sessions after it, so the rules,
// freezes and tokens of a project cover its git worktrees.
package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Name returns the base name of the first usable directory, cut to n bytes, or "". It does no I/O, and accepts
// the path separators of every system, because a directory may be of another machine. A folder in which an
// agent keeps a git worktree counts as the project.
func Name(n int, dirs ...string) string {
	for _, dir := range dirs {
		name := strings.TrimRight(withoutAgentFolder(strings.ReplaceAll(dir, `\`, "/")), "/")
		name = strings.TrimSpace(name[strings.LastIndexByte(name, '/')+1:])
		for end := n; len(name) > n; end-- {
			if utf8.RuneStart(name[end]) {
				name = name[:end]
			}
		}
		if name != "" && !strings.HasSuffix(name, ":") {
			return name
		}
	}
	return ""
}

// withoutAgentFolder returns the place of a directory in the project if it is in a worktree in one of the
// folders of agents: PROJECT/.claude/worktrees/NAME and .cursor/worktrees/PROJECT/ID.
func withoutAgentFolder(dir string) string {
	if before, after, ok := strings.Cut(dir, "/.claude/worktrees/"); ok && before != "" {
		_, rest, _ := strings.Cut(after, "/")
		return strings.TrimRight(before+"/"+rest, "/")
	}
	if _, after, ok := strings.Cut(dir, "/.cursor/worktrees/"); ok {
		name, rest, _ := strings.Cut(after, "/")
		_, rest, _ = strings.Cut(rest, "/")
		return strings.TrimRight(name+"/"+rest, "/")
	}
	return dir
}

// Top returns the root of the repository that contains dir, else dir itself.
func Top(dir string) string {
	dir = Absolute(dir)
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); !errors.Is(err, fs.ErrNotExist) {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// Absolute returns the absolute path, or the cleaned dir without a working directory.
func Absolute(dir string) string {
	if path, err := filepath.Abs(dir); err == nil {
		return path
	}
	return filepath.Clean(dir)
}

// Main returns the directory of the main working tree for one in a linked git worktree, and any other
// directory unchanged. Git does not run.
func Main(dir string) string {
	if !filepath.IsAbs(dir) {
		return dir
	}
	for top := filepath.Clean(dir); ; top = filepath.Dir(top) {
		link := filepath.Join(top, ".git")
		if info, err := os.Lstat(link); err == nil {
			root := mainOf(link, info)
			if root == "" {
				return dir
			}
			rest, err := filepath.Rel(top, filepath.Clean(dir))
			if err != nil {
				return dir
			}
			return filepath.Join(root, rest)
		}
		if top == filepath.Dir(top) {
			return dir
		}
	}
}

// mainOf returns the main working tree of a linked one, or "". link is the linked one's file .git, which
// names a folder of the repository; that folder names link, as git requires.
func mainOf(link string, info os.FileInfo) string {
	text, isLink := strings.CutPrefix(readLine(link, info), "gitdir: ")
	if !isLink {
		return ""
	}
	folder := resolve(filepath.Dir(link), text)
	common := filepath.Dir(filepath.Dir(folder))
	if filepath.Base(filepath.Dir(folder)) != "worktrees" {
		return "" // a submodule
	}
	if rel, err := filepath.Rel(filepath.Dir(link), common); err != nil || filepath.IsLocal(rel) {
		return "" // files of an archive could claim it
	}
	back := filepath.Join(folder, "gitdir")
	backInfo, err := os.Lstat(back)
	if err != nil {
		return ""
	}
	named, err := os.Lstat(resolve(folder, readLine(back, backInfo)))
	if err != nil || !os.SameFile(named, info) {
		return ""
	}
	if strings.HasPrefix(filepath.Base(common), ".") { // .git, or a bare repository next to its worktrees
		return filepath.Dir(common)
	}
	return strings.TrimSuffix(common, ".git")
}

// maxLine is longer than any path, in bytes.
const maxLine = 8 << 10

// readLine returns the content of a small regular file without the line break. Any other file is empty: a
// named pipe would block the hook.
func readLine(file string, info os.FileInfo) string {
	if !info.Mode().IsRegular() || info.Size() > maxLine {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(text), "\r\n")
}

// resolve returns a path that git wrote, which may be relative to dir.
func resolve(dir, name string) string {
	if name = filepath.FromSlash(name); !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	return filepath.Clean(name)
}
