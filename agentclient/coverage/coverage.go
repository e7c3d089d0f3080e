// Package coverage reports which agents on this machine run the gate, for the hub on the machine and for the hooks and
// commands of the account.
package coverage

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/hookback/hookback/agentclient/install"
	"github.com/hookback/hookback/agentclient/internal/account"
	"github.com/hookback/hookback/agentclient/internal/plaintext"
	"github.com/hookback/hookback/agentclient/policy"
	"github.com/hookback/hookback/schema/control"
)

// Machine is the account that this process runs as, on its machine.
type Machine struct {
	Env func(string) string
	// PolicyFile replaces the account's policy.
	PolicyFile string
	// Cache is that of install.Machine.
	Cache bool
}

// Report returns the present effect of the settings of the account's agents. It starts no program and takes about a millisecond.
func (m Machine) Report() (r control.MachineReport, err error) {
	r.Account = account.Name()
	if r.Host, err = os.Hostname(); err != nil {
		return r, err
	}
	machine, err := NewMachine(m.Env)
	if err != nil {
		return r, err
	}
	machine.Cache = m.Cache
	r.Agents, err = install.States(machine)
	hash := policyHash(filepath.Join(account.SystemDir, policy.FileName), cmp.Or(m.PolicyFile, policy.UserFile()))
	for i := range r.Agents {
		r.Agents[i].Policy = hash
	}
	return r, err
}

// policyHash identifies the policies of the user and of the administrator. Those of projects can only add to them.
func policyHash(files ...string) string {
	all, none := sha256.New(), true
	for _, file := range files {
		text, err := plaintext.ReadPolicy(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "unreadable"
		default:
			none = false
		}
		fmt.Fprintf(all, "%d:%s", len(text), text)
	}
	if none {
		return "none"
	}
	return hex.EncodeToString(all.Sum(nil)[:8])
}

// NewMachine describes this computer for package install.
func NewMachine(env func(string) string) (m install.Machine, err error) {
	m = install.Machine{
		Home: cmp.Or(env("HOME"), env("USERPROFILE")), State: account.StateDir(env), Env: env, Now: time.Now,
		LookPath: func(name string) (string, error) { return LookPath(env, name) },
		Version:  versionOf, Windows: runtime.GOOS == "windows",
	}
	if !filepath.IsAbs(m.Home) || m.State == "" {
		return m, errors.New("this user has no home directory (HOME), and so no settings")
	}
	m.Dir, err = os.Getwd()
	return m, err
}

// LookPath searches the absolute directories of the PATH in env for a program.
func LookPath(env func(string) string, name string) (string, error) {
	for _, dir := range filepath.SplitList(env("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

var versionNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+\.\d+`) })

// versionOf runs program --version and returns the version number, or "" if it fails
// or takes more than five seconds.
func versionOf(program string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return versionNumber().FindString(string(out))
}
