package consequence

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hookback/hookback/agentclient/internal/gitread"
)

// clean adds the files that git clean removes.
func (g *gitCall) clean() error {
	g.removed.seen = true
	specs := g.args
	if len(specs) == 0 {
		specs = []string{g.dir}
	}
	if g.has("e", "exclude", "i", "interactive") {
		g.removed.isPartial = true
		g.incomplete("The option to exclude files is not evaluated.")
	}
	for _, rel := range g.pathspecs(specs) {
		p := filepath.Join(g.repo.git.Root, filepath.FromSlash(rel))
		w := fileCounter{reader: g.reader, tally: &g.removed, repo: g.repo}
		rules, ignored := w.rulesFor(rel)
		if info, err := os.Lstat(p); err == nil && w.tally.unknownGit == nil {
			if rel == "" {
				rules, _ = g.repo.git.Ignored()
			}
			g.changesPath(p, p)
			g.cleanBelow(&w, node{p, rel, info, ignored}, rules)
		}
	}
	return nil
}

func (g *gitCall) cleanBelow(w *fileCounter, n node, rules *gitread.Ignore) {
	if g.entries++; g.stopped() || n.rel == ".git" {
		return
	}
	all, only := g.has("x"), g.has("X")
	n.isIgnored = n.isIgnored || n.rel != "" && rules.Match(n.rel, n.info.IsDir())
	tracked := len(g.repo.index.Below(n.rel)) > 0
	switch {
	case !n.info.IsDir():
		if !tracked && (all || n.isIgnored == only) {
			w.file(n, rules)
		}
		return
	case !tracked && n.rel != "":
		_, err := os.Lstat(filepath.Join(n.path, ".git"))
		isNested := !errors.Is(err, fs.ErrNotExist)
		if !g.has("d") || isNested && strings.Count(strings.Join(g.words, " "), "f") < 2 || n.isIgnored && !all && !only {
			return
		}
		if n.isIgnored || isNested {
			w.file(n, rules)
			return
		}
	}
	dir := n.rel
	if dir != "" {
		dir += "/"
	}
	rules, err := g.repo.git.In(rules, dir)
	if err != nil {
		w.tally.unknownGit = err
		return
	}
	w.entriesOf(n.path, func(child string, info fs.FileInfo) {
		g.cleanBelow(w, node{child, dir + info.Name(), info, n.isIgnored}, rules)
	})
}

// push adds the commits that branches of the remote lose by a forced push or a deletion.
func (g *gitCall) push() error {
	git, branch := g.repo.git, strings.TrimPrefix(g.repo.git.HeadBranch(), "refs/heads/")
	remote := cmp.Or(git.Config(`branch "`+branch+`"`, "pushRemote"), git.Config(`branch "`+branch+`"`, "remote"), "origin")
	specs := g.args
	if len(specs) > 0 {
		remote, specs = specs[0], specs[1:]
	}
	forced, deleted := g.has("f", "force", "force-with-lease", "force-if-includes"), g.has("d", "delete")
	if g.has("mirror", "prune") || forced && g.has("all", "branches", "tags") {
		g.incomplete("It is unknown which branches on " + quoteName(remote) + " lose commits.")
		return nil
	}
	if len(specs) == 0 && forced {
		specs = []string{branch}
	}
	var failure error
	for _, spec := range specs {
		plus := strings.HasPrefix(spec, "+")
		from, to, hasTarget := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		if !hasTarget {
			to = from
		}
		if to == "HEAD" || to == "@" {
			to = branch
		}
		isDeleted := deleted || hasTarget && from == ""
		if isDeleted || forced || plus {
			failure = cmp.Or(failure, g.pushBranch(remote, from, strings.TrimPrefix(to, "refs/heads/"), isDeleted))
		}
	}
	return failure
}

func (g *gitCall) pushBranch(remote, from, to string, isDeleted bool) error {
	git := g.repo.git
	name := quoteName(to) + " on " + quoteName(remote)
	old, err := git.Ref("refs/remotes/" + remote + "/" + to)
	if err != nil {
		return err
	}
	if old == "" {
		g.incomplete("No fetch has seen the branch " + name + ", so it is unknown which commits it loses.")
		return nil
	}
	if isDeleted {
		return g.loses("Deletes the branch "+name, "as of the last fetch", old, "refs/remotes/"+remote+"/"+to)
	}
	next, err := g.commit(from)
	if err != nil || next == "" {
		g.incomplete("It is unknown which commits the branch " + name + " loses.")
		return err
	}
	authors, err := git.Lost(old, next)
	g.lost("The branch "+name+" loses ", " (as of the last fetch).", authors, err)
	return err
}

func (g *gitCall) deleteBranches() error {
	for _, branch := range g.args {
		ref := "refs/heads/" + branch
		if g.has("r", "remotes") {
			ref = "refs/remotes/" + branch
		}
		old, err := g.repo.git.Ref(ref)
		if err != nil {
			return err
		}
		if old == "" {
			g.say("There is no branch " + quoteName(branch) + ".")
			continue
		}
		if err := g.loses("Deletes the branch "+quoteName(branch), "", old, ref); err != nil {
			return err
		}
	}
	return nil
}

// loses adds the commits of a deleted branch that no other branch and no tag has.
func (g *gitCall) loses(text, state string, old gitread.OID, except string) error {
	refs, err := g.repo.git.Refs()
	if err != nil {
		return err
	}
	delete(refs, except)
	kept := slices.Collect(maps.Values(refs))
	if head, err := g.repo.git.Ref("HEAD"); err == nil && head != "" && g.repo.git.HeadBranch() != except {
		kept = append(kept, head)
	}
	slices.Sort(kept)
	authors, err := g.repo.git.Lost(old, slices.Compact(kept)...)
	if state != "" {
		state = " (" + state + ")"
	}
	g.lost(text+"; no other branch or tag has ", state+".", authors, err)
	return err
}

// lost adds the commits of authors. If the walk failed, the number is not known.
func (g *gitCall) lost(text, end string, authors map[string]int64, failure error) {
	if failure != nil {
		return
	}
	total, names := int64(0), slices.Sorted(maps.Keys(authors))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(authors[b], authors[a]) })
	for _, n := range authors {
		total += n
	}
	g.add("commits", total)
	if total == 0 {
		g.say(text + "no commit" + end)
		return
	}
	g.say(text + count(total, "commit", "commits") + ": " + words(names, func(name string) string {
		return strconv.FormatInt(authors[name], 10) + " by " + quoteName(name)
	}) + end)
}
