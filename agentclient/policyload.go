package agentclient

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// PolicyName is the name of a policy's file.
const PolicyName = "hookback.json"

// LoadPolicy reads the user's policy and the project's, which rule in this order, and
// of which only the user's can allow (see PolicyFile.ForProject): a repository can't
// loosen what its user decided, nor what its agent would ask. Where neither exists,
// there is a Policy without an opinion. An error is a *PolicyError.
//
// dir is where the agent works; env is os.Getenv, or a test's.
func LoadPolicy(dir string, env func(string) string) (Policy, error) {
	return loadPolicy(dir, env, nil)
}

// LoadPolicyFor is LoadPolicy for a single call, for programs that end after it: it
// keeps the rules about the call's tool. Of the others it does not try the regular
// expressions, which is most of the work; every other mistake in them it finds.
func LoadPolicyFor(call ToolCall, dir string, env func(string) string) (Policy, error) {
	return loadPolicy(dir, env, &call)
}

func loadPolicy(dir string, env func(string) string, call *ToolCall) (Policy, error) {
	var files []*PolicyFile
	var policyErr PolicyError
	for _, file := range PolicyFiles(dir, env) {
		f, err := readPolicy(file, call)
		switch fileErr := (*PolicyError)(nil); {
		case errors.As(err, &fileErr):
			policyErr.Problems = append(policyErr.Problems, fileErr.Problems...)
		case err != nil && (!errors.Is(err, fs.ErrNotExist) || exists(file)): // a link that leads nowhere is there
			policyErr.Problems = append(policyErr.Problems, PolicyProblem{File: file, Text: err.Error()})
		case err != nil:
		case file == UserPolicyFile(env):
			files = append(files, f)
		default:
			files = append(files, f.ForProject())
		}
	}
	if len(policyErr.Problems) > 0 {
		return nil, &policyErr
	}
	return JoinPolicies(files...), nil
}

// JoinPolicies is one policy with the files' rules, in the order of the files.
func JoinPolicies(files ...*PolicyFile) Policy {
	var all rules
	for _, f := range files {
		all = append(all, f.rules...)
	}
	return all
}

// PolicyFiles are the files that LoadPolicy reads where they exist, in their order.
func PolicyFiles(dir string, env func(string) string) (files []string) {
	if file := UserPolicyFile(env); file != "" {
		files = append(files, file)
	}
	for _, file := range ProjectPolicyFiles(dir) {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// UserPolicyFile is where the user's own policy is, if there is one: in
// $XDG_CONFIG_HOME/hookback, ~/.config/hookback, or %AppData%\hookback on Windows.
// Empty: this user has no such directory.
func UserPolicyFile(env func(string) string) string {
	dir := env("XDG_CONFIG_HOME")
	switch {
	case filepath.IsAbs(dir): // as its specification wants it
	case runtime.GOOS == "windows":
		dir = env("AppData")
	case env("HOME") != "":
		dir = filepath.Join(env("HOME"), ".config")
	default:
		return ""
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "hookback", PolicyName)
}

// ProjectPolicyFiles are the policies of the project that dir belongs to: those of
// the repository's root, of dir and of what is between, the root's first. So a folder
// inside can't loosen what its project decided. Outside a repository only dir itself
// counts: a parent such as /tmp may be anybody's.
func ProjectPolicyFiles(dir string) (files []string) {
	root := ProjectDir(dir)
	for at := absolutePath(dir); ; at = filepath.Dir(at) {
		if file := filepath.Join(at, PolicyName); exists(file) {
			files = append(files, file)
		}
		if at == root {
			slices.Reverse(files)
			return files
		}
	}
}

// ProjectDir is the root of the repository that dir is in, else dir itself.
func ProjectDir(dir string) string {
	dir = absolutePath(dir)
	for at := dir; ; at = filepath.Dir(at) {
		if exists(filepath.Join(at, ".git")) {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// absolutePath is a directory's whole path; without a working directory it stays.
func absolutePath(dir string) string {
	if path, err := filepath.Abs(dir); err == nil {
		return path
	}
	return filepath.Clean(dir)
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return !errors.Is(err, fs.ErrNotExist)
}
