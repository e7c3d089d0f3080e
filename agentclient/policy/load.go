package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/project"
)

// FileName is the name of policy files.
const FileName = "hookback.json"

// Source locates the policies of the user and the project.
type Source struct {
	Dir string // the agent's working directory
	// UserFile is the user's policy. Default: UserFile.
	UserFile string
	// ManagedFile is the policy with which the machine's administrator asks and denies for every account; no other
	// file takes its rules away. Default: hookback.json in /etc/hookback, or in hookback in the ProgramData folder.
	ManagedFile string
	// Env is os.Getenv, or a fake in tests. nil reads no variables.
	Env func(string) string
}

// Load reads the policies of the user and the project. The user's rules come first,
// and only they can allow (see File.ForProject): a repository can't loosen what the
// user decided or what the agent would ask. If no file exists, the returned Policy has no
// opinion. The error is a *Error.
//
// dir is the agent's working directory. env is os.Getenv, or a fake in tests.
func Load(dir string, env func(string) string) (Policy, error) {
	return Source{Dir: dir, Env: env}.Load()
}

// Load is Load for this source.
func (s Source) Load() (Policy, error) { return s.load(nil) }

// LoadFor is Load for programs that evaluate a single call. It keeps only the rules about
// the call's tool. In other rules it does not check regular expressions, which is most of
// the work, but reports every other problem.
func (s Source) LoadFor(call Call) (Policy, error) { return s.load(&callArguments{Call: call}) }

func (s Source) load(call *callArguments) (Policy, error) {
	var files []*File
	var named, managed Policy = Never(), Never()
	var policyErr Error
	user, environment := s.userFile(), s.environmentFile()
	for _, file := range s.Files() {
		f, err := read(file, call)
		switch fileErr := (*Error)(nil); {
		case errors.As(err, &fileErr):
			policyErr.Problems = append(policyErr.Problems, fileErr.Problems...)
		case err != nil && (!errors.Is(err, fs.ErrNotExist) || exists(file)): // a dangling link exists
			policyErr.Problems = append(policyErr.Problems, Problem{File: file, Text: err.Error()})
		case err != nil:
		case file == user:
			files = append(files, f)
		case file == s.managedFile():
			managed = f.ForProject()
		case file == environment:
			named = f.ForProject()
		default:
			files = append(files, f.ForProject())
		}
	}
	if len(policyErr.Problems) > 0 {
		return nil, &policyErr
	}
	// A file that the environment names may be the user's: no rule of a project takes its denials away. It may also be
	// a project's: it takes no rule away either.
	return Any(Join(files...), managed, named), nil
}

// Join returns a policy with the rules of all files, in order.
func Join(files ...*File) Policy {
	var all rules
	for _, f := range files {
		all = append(all, f.rules...)
	}
	return all
}

// Files returns the paths that Load reads. Files need not exist.
func (s Source) Files() (files []string) {
	for _, file := range slices.Concat([]string{s.managedFile(), s.userFile()}, projectFiles(s.Dir), []string{s.environmentFile()}) {
		if file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// MayAllow reports whether the rules of a file may allow calls. Only the user's file may.
func (s Source) MayAllow(file string) bool { return file == s.userFile() }

func (s Source) managedFile() string {
	if s.ManagedFile != "" {
		return s.ManagedFile
	}
	return filepath.Join(account.SystemDir, FileName)
}

func (s Source) userFile() string {
	if s.UserFile != "" {
		return s.UserFile
	}
	return UserFile()
}

// UserFile returns the path of the user's policy: ~/.config/hookback/hookback.json, or
// AppData\Roaming\hookback\hookback.json on Windows. The home directory is that of the
// account database: the environment, which an agent can set, must not choose rules that
// allow. The path is empty for an account without a home directory.
func UserFile() string {
	home, err := account.Home()
	if err != nil {
		return ""
	}
	return filepath.Join(account.ConfigDir(home), FileName)
}

// environmentFile returns the policy that the environment names: hookback/hookback.json in
// $XDG_CONFIG_HOME, else in ~/.config, or %AppData% on Windows. Its rules can ask and deny, whatever others allow.
func (s Source) environmentFile() string {
	if s.Env == nil {
		return ""
	}
	dir := s.Env("XDG_CONFIG_HOME")
	switch {
	case filepath.IsAbs(dir): // the XDG specification ignores relative paths
	case runtime.GOOS == "windows":
		dir = s.Env("AppData")
	case s.Env("HOME") != "":
		dir = filepath.Join(s.Env("HOME"), ".config")
	default:
		return ""
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "hookback", FileName)
}

// projectFiles returns the existing policies of the project that dir belongs to:
// from the root of the repository down to dir, so that a subfolder can't loosen the
// project's rules. Outside of a repository only dir counts, because a parent such as /tmp
// may belong to other users.
func projectFiles(dir string) (files []string) {
	root := project.Top(dir)
	for at := project.Absolute(dir); ; at = filepath.Dir(at) {
		if file := filepath.Join(at, FileName); exists(file) {
			files = append(files, file)
		}
		if at == root {
			slices.Reverse(files)
			return files
		}
	}
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return !errors.Is(err, fs.ErrNotExist)
}
