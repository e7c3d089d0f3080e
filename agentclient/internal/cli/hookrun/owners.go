package hookrun

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hookback/hookback/agentclient/call"
	"github.com/hookback/hookback/agentclient/hook"
	"github.com/hookback/hookback/agentclient/internal/codeowners"
	"github.com/hookback/hookback/agentclient/internal/gitread"
	"github.com/hookback/hookback/schema"
)

// The hook reads CODEOWNERS from git's objects, never from the working tree, which the agent writes. It takes the
// default branch as the remote repository had it, or else the local one: the agent can commit to its own branch.

const (
	maxTouched    = 500 // files of a call whose owners are looked up
	maxPathsShown = 5   // of the files with the same owners
)

// fileOwners returns the owners of the files that the call touches; nil outside of a repository.
func (h *hookRun) fileOwners(c *hook.Call) *schema.FileOwners {
	if c.Tool == nil {
		return nil
	}
	r, err := gitread.Open(h.policyDirs(c)[0])
	if errors.Is(err, gitread.ErrNoRepository) {
		return nil
	}
	var file *codeowners.File
	owners := &schema.FileOwners{}
	if err == nil {
		defer r.Close()
		file, owners.From, err = readCodeowners(r)
	}
	if err != nil {
		owners.Problem = err.Error()
		return owners
	}
	if file == nil {
		return nil
	}
	dir := cmp.Or(workingDir(c), h.workDir)
	read := call.Read(call.Input{
		Agent: c.Event.Agent, Tool: c.Tool.Name, Alias: c.Alias, Command: c.Command, Arguments: c.Tool.Arguments, Dir: dir,
	})
	for _, path := range touchedPaths(r.Root, read) {
		addOwners(owners, path, file.Owners(path))
		for _, below := range file.Below(path) {
			addOwners(owners, path, below)
		}
	}
	if len(owners.Files) == 0 {
		owners.Problem = "the call names no file that has an owner"
	}
	return owners
}

// readCodeowners returns the repository's file and its place; nil if there is none.
func readCodeowners(r *gitread.Repository) (file *codeowners.File, from string, err error) {
	var commit gitread.OID
	var ref string
	for _, ref = range []string{
		"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master", "HEAD",
	} {
		if commit, err = r.Ref(ref); err != nil {
			return nil, "", fmt.Errorf("the repository can't be read: %w", err)
		}
		if commit != "" {
			break
		}
	}
	if commit == "" {
		return nil, "", nil // no commit yet
	}
	if ref == "HEAD" {
		ref = cmp.Or(r.HeadBranch(), ref)
	}
	ref = strings.TrimPrefix(strings.TrimPrefix(ref, "refs/remotes/"), "refs/heads/")
	for _, place := range codeowners.Places() {
		text, found, err := r.FileAt(commit, place)
		if !found && err == nil {
			continue
		}
		from = fmt.Sprintf("%s of %s, commit %.7x", place, ref, string(commit))
		if err == nil {
			file, err = codeowners.Parse([]byte(text))
		}
		if err != nil {
			return nil, from, fmt.Errorf("%s %w", place, err)
		}
		return file, from, nil
	}
	return nil, "", nil
}

// touchedPaths returns the paths in the repository that a call changes, or else reads: as the call names them, and
// where links lead.
func touchedPaths(workTree string, read *call.Call) (paths []string) {
	changes := func(f call.File) bool { return f.Op != call.ReadFile && f.Op != call.ListFile }
	files := slices.DeleteFunc(slices.Clone(read.Files), func(f call.File) bool { return !changes(f) })
	if len(files) == 0 {
		files = read.Files
	}
	if len(files) == 0 {
		files = read.MayBe
	}
	for _, f := range files {
		name := filepath.FromSlash(f.Path)
		if len(paths) >= maxTouched || !filepath.IsAbs(name) || strings.Contains(name, call.Expansion) {
			continue
		}
		for _, at := range []string{name, resolveLinks(name)} {
			for _, top := range []string{workTree, resolveLinks(workTree)} {
				rel, err := filepath.Rel(top, at)
				if rel = filepath.ToSlash(rel); err == nil && filepath.IsLocal(rel) && !slices.Contains(paths, rel) {
					paths = append(paths, rel)
				}
			}
		}
	}
	return paths
}

// resolveLinks returns where the existing part of a path leads.
func resolveLinks(name string) string {
	if resolved, err := filepath.EvalSymlinks(name); err == nil {
		return resolved
	}
	dir := filepath.Dir(name)
	if dir == name {
		return name
	}
	return filepath.Join(resolveLinks(dir), filepath.Base(name))
}

// addOwners adds a path to the files with the same owners.
func addOwners(to *schema.FileOwners, path string, owners []string) {
	owners = owners[:min(len(owners), schema.MaxOwners)]
	i := slices.IndexFunc(to.Files, func(f schema.OwnedFiles) bool { return slices.Equal(f.Owners, owners) })
	switch {
	case len(owners) == 0 || slices.ContainsFunc(owners, func(name string) bool { return len(name) > schema.MaxOwnerBytes }):
	case i < 0 && len(to.Files) < schema.MaxOwnedFiles:
		to.Files = append(to.Files, schema.OwnedFiles{Paths: []string{path}, Owners: owners})
	case i >= 0 && len(to.Files[i].Paths) < maxPathsShown && !slices.Contains(to.Files[i].Paths, path):
		to.Files[i].Paths = append(to.Files[i].Paths, path)
	}
}

// addOwnersTo adds the owners of the call to its question, and who decides it by the policy.
func (h *hookRun) addOwnersTo(ask *schema.HumanInTheLoop, c *hook.Call, hd hookDecision) {
	owners := h.fileOwners(c)
	if owners != nil {
		var questionContext schema.Context
		if ask.Context != nil {
			questionContext = *ask.Context
		}
		questionContext.Owners = owners
		ask.Context = &questionContext
	}
	if hd.policy.Owners {
		ask.Recipients = &schema.Recipients{Owners: true}
	}
	if ask.Type == schema.Permission || ask.Type == schema.Choice && !ask.AllowOther { // two texts never agree
		ask.RequiredApprovals = hd.policy.Quorum
	}
}
